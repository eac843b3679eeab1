/**
 * Copies between host memory and buffers that continue each other go to the engine as one: the core
 * asks for a block in pieces, and each would be a packet there and back, an order to the GPU, and a
 * wait for it. What has been asked for waits until something else is said to the engine, or there
 * is nothing more to do. Small pieces from many places, as those that the CPU has written, are moves
 * of one packet. All that is to be read goes in one packet, too, the first that was asked for
 * before the others: the engine may have the manager's CPU from the first packet on until it has
 * done what that says.
 */
import { File, type Move, Packet, type Part } from '../link/protocol.js';
import { STAGING_SLOT_BYTES } from '../link/staging.js';

type Kind = typeof Packet.Write | typeof Packet.Read;

interface Joined {
  readonly file: File;
  readonly at: number;
  readonly tokens: number[];
  readonly urgent: boolean;
  /** More than one: nothing continues them. */
  readonly parts: [buffer: number, offset: number, bytes: number][];
}

/** No copy is larger. A packet of writes ends when it would have more, or with the copy that joins. */
const MOST_BYTES = STAGING_SLOT_BYTES;
/** What one packet has room for, however many tokens there are. */
const MOST_READS = 8;

export class JoinedMoves {
  private kind: Kind = Packet.Write;
  private waiting: Joined[] = [];
  private waitingBytes = 0;

  /** @param post what goes in one packet */
  constructor(private readonly post: (kind: Kind, moves: readonly Move[]) => void) {}

  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  /**
   * Of bytes in one piece of one buffer; all others go by themselves. Zeros are found anywhere.
   * @param token null: nobody waits for them
   * @param urgent a thread waits for them, and is not to wait for those that continue them
   */
  add(
    kind: Kind,
    token: number | null,
    file: File,
    at: number,
    parts: readonly Part[],
    urgent = false,
  ): void {
    if (kind !== this.kind) this.flush();
    this.kind = kind;
    const bytes = bytesOf(parts);
    const last = this.waiting.at(-1);
    const [first, ...others] = parts;
    if (
      last?.file === file &&
      others.length === 0 &&
      last.urgent === urgent &&
      follows(last, at, first)
    ) {
      if (token !== null) last.tokens.push(token);
      last.parts[0][2] += bytes;
      this.waitingBytes += bytes;
      return;
    }
    if (kind === Packet.Read) {
      if (this.waiting.length === MOST_READS) this.flush();
    } else if (this.waitingBytes + bytes > MOST_BYTES) this.flush();
    this.waitingBytes += bytes;
    this.waiting.push({
      file,
      at,
      tokens: token === null ? [] : [token],
      urgent,
      parts: parts.map((part) => [...part]),
    });
  }

  /** Says what waits, if it is of this kind. */
  flush(only = this.kind): void {
    const { kind, waiting } = this;
    if (waiting.length === 0 || only !== kind) return;
    this.waiting = [];
    this.waitingBytes = 0;
    const moves = waiting.map(({ tokens, file, at, parts }) => ({
      tokens: tokens.length === 0 ? null : tokens,
      file,
      at,
      parts,
    }));
    this.post(kind, moves);
  }
}

function bytesOf(parts: readonly Part[]): number {
  return parts.reduce((sum, [, , bytes]) => sum + bytes, 0);
}

function follows(
  { file, at, parts }: Joined,
  place: number,
  [buffer, offset, bytes]: Part,
): boolean {
  if (parts.length > 1) return false;
  const [part] = parts;
  const isNext = file === File.None || at + part[2] === place;
  return (
    isNext && part[0] === buffer && part[1] + part[2] === offset && part[2] + bytes <= MOST_BYTES
  );
}
