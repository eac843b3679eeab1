/** Failures of streams that the program has not asked for: the close of the space tells of them. */

import { warn } from '../values/errors.js';

/** Whether the program has looked how an event ended. It is apart, so that nothing keeps the event. */
export interface Attention {
  isSeen: boolean;
}

interface Failure {
  readonly attention: Readonly<Attention>;
  readonly message: string;
}

/** Those of so many streams are kept; of more the number is told. */
const MOST_KEPT = 16;

export class UnseenFailures {
  private readonly first = new Map<number, Failure>();
  private more = 0;

  /** An operation has failed; the first of each stream counts. */
  note(stream: number, message: string, attention: Readonly<Attention>): void {
    if (this.first.has(stream)) return;
    for (const [id, each] of this.first) if (each.attention.isSeen) this.first.delete(id);
    if (this.first.size < MOST_KEPT) this.first.set(stream, { attention, message });
    else this.more++;
  }

  /** The stream has been synchronized, which told its failure. */
  told(stream: number): void {
    this.first.delete(stream);
  }

  /** Warns once of all that nobody has looked at. */
  warn(): void {
    const unseen = [...this.first.values()].filter(({ attention }) => !attention.isSeen);
    this.first.clear();
    const [failure] = unseen;
    if (failure === undefined) return;
    const others = unseen.length - 1 + this.more;
    const besides = others === 0 ? '' : `, and ${others} more streams failed`;
    warn(
      'ONEMEM_STREAM_FAILED',
      `an operation of a stream failed, and the program has not asked how: ${failure.message}${besides}; ` +
        'await stream.synchronize() before the close, or event.synchronize()',
    );
  }
}
