/**
 * The model of a server's side (src/sharing/steps.ts) of an array that machines share: for each block the session that owns it, those
 * that have a copy, and those that wait. Each request is one step that nothing can interrupt.
 *
 * Sessions, epochs and versions have numbers that are used once, so that what an old connection
 * still says is refused. A session is a connection of a machine together with its lease. The end of
 * a lease is noticed when a machine needs what its session has; until then its session may go on.
 *
 * An epoch names one grant of the right to write, and the block has the latest. A machine that
 * comes back claims its blocks by their epochs: what has been granted since, or was taken from a
 * machine whose lease had ended, has another epoch.
 *
 * A server that has lost all this has another array from then on, which begins with zeros. No
 * session of it begins for a machine that opened the earlier one, since that machine would take the
 * zeros for what was written.
 */
import type {
  Granted,
  Notice,
  Reply,
  Request,
  Right,
  Spoiled,
} from '../../src/coherence/messages.js';
import { FLUSHES } from '../../src/sharing/steps.js';

interface Waiting {
  readonly session: number;
  right: Right;
  /** The version of the content that it has. */
  have: number;
}

/** The last content that a session has flushed to a block. */
interface Flush {
  readonly session: number;
  readonly epoch: number;
  readonly flush: number;
}

export interface DirectoryBlock<C> {
  epoch: number;
  /** The session that may write, or 0. */
  owner: number;
  /** Names a content; 1 is the first. */
  version: number;
  /**
   * Another program may have removed or changed it, or the server have dropped it for want of
   * memory. An owner's flush, or that of a reader that comes to write, puts it right.
   */
  content: C | Spoiled;
  /** Sessions that have a copy; the owner is none of them. */
  readers: number[];
  /** Sessions that wait, the longest first. */
  queue: Waiting[];
  /** By which a machine that has heard no answer learns that nothing is lost; the oldest first. */
  flushes: Flush[];
}

/** All that the server knows: plain data, so that states can be compared. */
export interface DirectoryState<C> {
  /** The last number that was given to a session, an epoch or a version. */
  numbers: number;
  /** Sessions whose lease has not ended, as far as anybody has noticed. */
  alive: number[];
  /** Names the array: no other one of this name ever had it. */
  readonly made: string;
  readonly blocks: DirectoryBlock<C>[];
}

export class Directory<C> {
  constructor(
    readonly state: DirectoryState<C>,
    private readonly tell: (notice: Notice<C>) => void,
  ) {}

  static empty<C>(contents: readonly C[], made: string): DirectoryState<C> {
    const blocks = contents.map((content) => ({
      epoch: 0,
      owner: 0,
      version: 1,
      content,
      readers: [],
      queue: [],
      flushes: [],
    }));
    return { numbers: 1, alive: [], made, blocks };
  }

  step(request: Request<C>): Reply<C> | undefined {
    switch (request.kind) {
      case 'hello':
        return this.hello(request);
      case 'claim':
        return this.claim(request);
      case 'acquire':
        return this.acquire(request);
      case 'flush':
        return this.flush(request);
      case 'release':
        this.release(request);
        return undefined;
      case 'remind':
        return this.remind(request);
    }
  }

  /** A machine has noticed that the lease of a session is over. */
  expire(session: number): void {
    this.state.alive = this.state.alive.filter((each) => each !== session);
  }

  private hello({ made }: Extract<Request<C>, { kind: 'hello' }>): Reply<C> {
    if (made !== this.state.made) return { kind: 'forgotten' };
    const session = ++this.state.numbers;
    this.state.alive.push(session);
    return { kind: 'welcome', session };
  }

  private claim({ session, previous, claims }: Extract<Request<C>, { kind: 'claim' }>): Reply<C> {
    if (!this.isAlive(session)) return { kind: 'refused' };
    this.expire(previous);
    const kept: number[] = [];
    const lost: number[] = [];
    const older: number[] = [];
    for (const { block, epoch, version, flush } of claims) {
      const state = this.state.blocks[block];
      // By its epoch it is a session of this machine; a later one has said its claim before this
      // came.
      const isEarlier = state.owner !== 0 && state.owner < session;
      // Later numbers are greater, also those of a server that has come back: it may not know the
      // grant either, by which the machine flushed what it lacks.
      if (version > state.version) {
        if (state.epoch === epoch && isEarlier) state.owner = 0;
        older.push(block);
      } else if (state.epoch !== epoch) {
        if (!state.flushes.some((each) => each.epoch === epoch && each.flush === flush))
          lost.push(block);
      } else if (isEarlier) {
        state.owner = session;
        kept.push(block);
      }
    }
    return { kind: 'claimed', kept, lost, older };
  }

  private acquire({
    session,
    block,
    right,
    have,
  }: Extract<Request<C>, { kind: 'acquire' }>): Reply<C> {
    if (!this.isAlive(session)) return { kind: 'refused' };
    const state = this.state.blocks[block];
    this.sweep(block);
    const waiting = state.queue.find((each) => each.session === session);
    if (waiting === undefined) state.queue.push({ session, right, have });
    else Object.assign(waiting, { right, have });
    const reply: Reply<C> = this.isNext(state, session)
      ? this.grant(block, session)
      : { kind: 'wait', block };
    this.grantNext(block);
    return reply;
  }

  private flush({
    session,
    block,
    epoch,
    flush,
    content,
    keep,
  }: Extract<Request<C>, { kind: 'flush' }>): Reply<C> {
    const state = this.state.blocks[block];
    if (!this.isAlive(session) || state.owner !== session || state.epoch !== epoch)
      return { kind: 'refused' };
    if (content !== null) {
      state.content = content;
      state.version = ++this.state.numbers;
      this.remember(block, { session, epoch, flush });
    }
    if (keep !== 'write') state.owner = 0;
    if (keep === 'read') state.readers.push(session);
    this.sweep(block);
    this.grantNext(block);
    return { kind: 'flushed', block, version: state.version };
  }

  private remember(block: number, flush: Flush): void {
    const state = this.state.blocks[block];
    const others = state.flushes.filter(({ session }) => session !== flush.session);
    const tooMany = others.length + 1 - FLUSHES;
    const kept = others.filter(({ session }, at) => at >= tooMany || this.isAlive(session));
    state.flushes = [...kept, flush];
  }

  private release({ session, block }: Extract<Request<C>, { kind: 'release' }>): void {
    const state = this.state.blocks[block];
    if (!this.isAlive(session)) return;
    if (state.owner === session) state.owner = 0;
    state.readers = state.readers.filter((each) => each !== session);
    state.queue = state.queue.filter((each) => each.session !== session);
    this.sweep(block);
    this.grantNext(block);
  }

  private remind({
    session,
    block,
  }: Extract<Request<C>, { kind: 'remind' }>): Reply<C> | undefined {
    if (!this.isAlive(session)) return { kind: 'refused' };
    this.sweep(block);
    this.grantNext(block);
    return undefined;
  }

  private isAlive(session: number): boolean {
    return this.state.alive.includes(session);
  }

  /** Takes the block from those whose lease has ended. */
  private sweep(block: number): void {
    const state = this.state.blocks[block];
    if (state.owner !== 0 && !this.isAlive(state.owner)) {
      state.owner = 0;
      // The owner that comes back later must find that its claim is too old, also if others have
      // only read meanwhile.
      state.epoch = ++this.state.numbers;
      this.tell({ kind: 'lost', to: 'all', block });
    }
    state.readers = state.readers.filter((each) => this.isAlive(each));
    state.queue = state.queue.filter((each) => this.isAlive(each.session));
  }

  /** Whether a waiting session can have the right: readers together, a writer first and alone. */
  private isNext(state: DirectoryBlock<C>, session: number): boolean {
    const at = state.queue.findIndex((each) => each.session === session);
    const { right } = state.queue[at];
    if (state.owner !== 0 && state.owner !== session) return false;
    if (right === 'write') return at === 0 && state.readers.every((each) => each === session);
    return state.queue.slice(0, at).every((each) => each.right === 'read');
  }

  /** Gives a session that is next what it waits for. */
  private grant(block: number, session: number): Granted<C> {
    const state = this.state.blocks[block];
    const { right, have } = state.queue.find((each) => each.session === session) as Waiting;
    state.queue = state.queue.filter((each) => each.session !== session);
    state.readers = state.readers.filter((each) => each !== session);
    if (right === 'write') {
      state.epoch = ++this.state.numbers;
      state.owner = session;
    } else state.readers.push(session);
    const { epoch, version } = state;
    return {
      kind: 'granted',
      block,
      right,
      epoch,
      version,
      content: have === version ? null : state.content,
    };
  }

  /** Has the sessions that are in the way of the first that waits give up the block. */
  private recall(block: number): void {
    const { owner, readers, queue } = this.state.blocks[block];
    const [{ session, right }] = queue;
    if (owner !== 0 && owner !== session) this.tell({ kind: 'recall', to: owner, block, right });
    if (right === 'read') return;
    for (const reader of readers)
      if (reader !== session) this.tell({ kind: 'recall', to: reader, block, right });
  }

  /** A machine is granted what can be had without asking a second time. */
  private grantNext(block: number): void {
    const state = this.state.blocks[block];
    while (state.queue.length > 0 && this.isNext(state, state.queue[0].session)) {
      const { session } = state.queue[0];
      this.tell({ ...this.grant(block, session), to: session });
    }
    if (state.queue.length > 0) this.recall(block);
  }
}
