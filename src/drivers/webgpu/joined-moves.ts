/**
 * Copies between host memory and buffers that continue each other go to the engine as one: the core asks for a block in pieces, and each would be a
 * packet there and back, an order to the GPU, and a wait for it. What has been asked for waits until something else is said to the engine, or there is
 * nothing more to do.
 */
import { File, type Move, type Packet, type Part } from './protocol.js';
import { STAGING_SLOT_BYTES } from './staging.js';

type Kind = typeof Packet.Write | typeof Packet.Read;

interface Joined {
  readonly kind: Kind;
  readonly file: File;
  readonly at: number;
  readonly tokens: number[];
  readonly part: [buffer: number, offset: number, bytes: number];
}

/** No copy is larger. */
const MOST_BYTES = STAGING_SLOT_BYTES;

export class JoinedMoves {
  private waiting: Joined | null = null;

  constructor(private readonly post: (kind: Kind, move: Move) => void) {}

  get isWaiting(): boolean {
    return this.waiting !== null;
  }

  /** Of bytes in one piece of one buffer; all others go by themselves. Zeros are found anywhere. */
  add(kind: Kind, token: number, file: File, at: number, parts: readonly Part[]): void {
    const { waiting } = this;
    const [first, ...others] = parts;
    if (first === undefined || others.length > 0) {
      this.flush();
      this.post(kind, { tokens: [token], file, at, parts });
    } else if (waiting?.kind === kind && waiting.file === file && follows(waiting, at, first)) {
      waiting.tokens.push(token);
      waiting.part[2] += first[2];
    } else {
      this.flush();
      this.waiting = { kind, file, at, tokens: [token], part: [...first] };
    }
  }

  /** Says what waits, if it is of this kind. */
  flush(only?: Kind): void {
    const { waiting } = this;
    if (waiting === null || (only ?? waiting.kind) !== waiting.kind) return;
    this.waiting = null;
    const { kind, tokens, file, at, part } = waiting;
    this.post(kind, { tokens, file, at, parts: [part] });
  }
}

function follows({ file, at, part }: Joined, place: number, [buffer, offset, bytes]: Part): boolean {
  const isNext = file === File.None || at + part[2] === place;
  return isNext && part[0] === buffer && part[1] + part[2] === offset && part[2] + bytes <= MOST_BYTES;
}
