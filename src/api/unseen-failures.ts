/** Failures of streams that the program has not asked for: the close of the space tells of them. */

/** Of an event: how it failed, and whether the program has looked. */
interface FailedEvent {
  readonly isSeen: boolean;
  readonly failure: { readonly message: string } | null;
}

/** Those of so many streams are kept; of more the number is told. */
const MOST_KEPT = 16;

export class UnseenFailures {
  private readonly first = new Map<number, FailedEvent>();
  private more = 0;

  /** An operation has failed; the first of each stream counts. */
  note(stream: number, event: FailedEvent): void {
    if (this.first.has(stream)) return;
    for (const [id, each] of this.first) if (each.isSeen) this.first.delete(id);
    if (this.first.size < MOST_KEPT) this.first.set(stream, event);
    else this.more++;
  }

  /** The stream has been synchronized, which told its failure. */
  told(stream: number): void {
    this.first.delete(stream);
  }

  /** Warns once of all that nobody has looked at. */
  warn(): void {
    const unseen = [...this.first.values()].filter(({ isSeen }) => !isSeen);
    this.first.clear();
    const [event] = unseen;
    if (event === undefined) return;
    const others = unseen.length - 1 + this.more;
    const besides = others === 0 ? '' : `, and ${others} more streams failed`;
    process.emitWarning(
      `an operation of a stream failed, and the program has not asked how: ${event.failure?.message}${besides}; ` +
        'await stream.synchronize() before the close, or event.synchronize()',
      { type: 'OnememWarning', code: 'ONEMEM_STREAM_FAILED' },
    );
  }
}
