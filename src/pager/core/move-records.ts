/** Records of moves that a program starts and stops: in files, and the last moves in memory. */

import type { Commands } from '../../core/basics/types.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import { MovesFile } from '../../files/moves-file.js';
import { MoveRecorder } from '../../trace/recording/move-recorder.js';
import { MoveRing } from '../../trace/recording/move-ring.js';
import { MoveTail } from '../../trace/recording/move-tail.js';
import { RequestError } from '../protocol/wire.js';

/** What memory keeps of moves while a file is written, if the program said nothing of it. */
const RING_BYTES = 16 * 2 ** 20;
/** Of one who follows, and asks several times a second. */
const TAIL_CHARACTERS = 8 * 2 ** 20;

type Follower = object;

interface Followed {
  readonly tail: MoveTail;
  readonly by: Follower;
}

export interface Tail {
  /** Null: some of it was lost, and the next one begins anew. */
  readonly text: string | null;
  readonly nowMs: number;
}

export class MoveRecords {
  private readonly recorder: MoveRecorder;
  private readonly files = new Map<number, MovesFile>();
  private readonly tails = new Map<number, Followed>();
  private records = 0;
  private ring: MoveRing | null = null;
  /** The ring stays when the last file is closed. */
  private readonly always: boolean;

  /** @param ringBytes of the last moves in memory, from the beginning; null: only beside a file */
  constructor(
    manager: MemoryManager,
    commands: Commands,
    name: string,
    rule: string,
    private readonly ringBytes: number | null,
    private readonly warn: (message: string) => void,
  ) {
    const record = `${name} ${Date.now()}`;
    const now = (): number => performance.now();
    this.recorder = new MoveRecorder(record, manager, commands, rule, now);
    this.always = ringBytes !== null;
    if (this.always) this.keepLast();
  }

  /** The last moves, as parts of a text; null: none were kept. */
  get last(): readonly string[] | null {
    return this.ring?.texts ?? null;
  }

  /** Keeps moves for a client that asks for them again and again. Returns their number. */
  follow(by: Follower): number {
    const tail = new MoveTail(TAIL_CHARACTERS);
    this.recorder.add(tail);
    this.tails.set(++this.records, { tail, by });
    return this.records;
  }

  /** Moves since the last time, and the recorder's clock. */
  tail(id: number, by: Follower): Tail {
    const followed = this.tails.get(id);
    const text = followed?.by === by ? followed.tail.take() : null;
    return { text, nowMs: this.recorder.elapsed() };
  }

  unfollow(id: number, by: Follower): void {
    const followed = this.tails.get(id);
    if (followed?.by !== by) return;
    this.recorder.remove(followed.tail);
    this.tails.delete(id);
  }

  /** A client has left: nobody asks for its moves any more. */
  left(by: Follower): void {
    for (const id of [...this.tails.keys()]) this.unfollow(id, by);
  }

  start(path: string, limitBytes: number | null): number {
    const file = new MovesFile(path, limitBytes, ({ message }) =>
      this.warn(`warning: the recording in ${path} ends here, and the program goes on: ${message}`),
    );
    try {
      this.recorder.add(file);
    } catch (error) {
      const message = `cannot record in ${path}: ${(error as Error).message}`;
      const remedy =
        'name a file in a folder that is there, where this program may write and the disk has room';
      throw new RequestError('RECORDING', `${message}; ${remedy}`, { path });
    }
    if (this.files.size === 0 && !this.always) this.keepLast();
    this.files.set(++this.records, file);
    return this.records;
  }

  stop(id: number): { bytes: number; failure: string | null } {
    const file = this.files.get(id);
    if (file === undefined) return { bytes: 0, failure: null };
    this.files.delete(id);
    this.recorder.remove(file);
    file.close();
    // What it kept can be asked for after the end of the file.
    if (this.files.size === 0 && !this.always && this.ring !== null)
      this.recorder.remove(this.ring);
    return { bytes: file.bytes, failure: file.failure?.message ?? null };
  }

  /** Hands to the system what it does not have yet. */
  idle(): void {
    for (const file of this.files.values()) file.flush();
  }

  close(): void {
    for (const file of this.files.values()) file.close();
  }

  private keepLast(): void {
    this.ring = new MoveRing(this.ringBytes ?? RING_BYTES);
    this.recorder.add(this.ring);
  }
}
