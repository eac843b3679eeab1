/**
 * A machine's side of an array that several share: what its threads may do with each block, and
 * what it asks of the server.
 *
 * A block has one thing done to it at a time: it is asked for, its content is put in its place,
 * rights are taken from the threads, or its content is on the way to the server. What is wanted of
 * it meanwhile is looked at afterwards, what others want before what is wanted here.
 *
 * A connection carries requests, replies and notices in their order, those of one session. When it
 * breaks, when the lease is over, or when the server refuses what is said, one path leads back: all
 * rights are taken from the threads, and then a new session is begun that claims what the machine
 * owned. What another machine was granted meanwhile is lost to this one, and `lost` says so. A
 * server that has forgotten the array begins no session: that is the end of it here, whatever the
 * server has by then.
 */
import {
  type Claim,
  exceeds,
  type Granted,
  type Notice,
  type Reply,
  type Request,
  type Right,
  type Rights,
  SPOILED,
} from './messages.js';

type Doing = 'nothing' | 'asking' | 'installing' | 'restricting' | 'sending';

export interface CachedBlock {
  /** What the threads may do. */
  right: Rights;
  /** The epoch of the grant by which this machine owns the block; 0 when it does not. */
  epoch: number;
  /** Of the content that is here, as far as it was not written here; 0 when it is of no use. */
  version: number;
  /** The owner's content is other than the server's, as far as is known. */
  changed: boolean;
  /** The number of an unanswered flush; 0: none, or threads may have written since. */
  unheard: number;
  /** What threads wait for. */
  wanted: Rights;
  /** The server lets the machine wait, and says when it has what it asked for. */
  waiting: boolean;
  /** What another machine waits for. */
  recalled: Rights;
  /** A flush has been asked for. */
  flush: boolean;
  doing: Doing;
  /** What is installed, or kept of a right being given up. An owner that flushes still reads. */
  target: Rights;
}

export interface CacheState {
  connected: boolean;
  /** 0 while there is none. */
  session: number;
  previous: number;
  flushes: number;
  /** A new session has been asked for. */
  greeting: boolean;
  /** The one given in which nothing but the claim has been said; 0: there is none. */
  coming: number;
  /** Names the array that was opened. */
  readonly made: string;
  /** It is not there any more: nothing is granted again. */
  forgotten: boolean;
  readonly blocks: CachedBlock[];
}

/** What the machine does for its cache. */
export interface CacheCommands<C> {
  send(request: Request<C>): void;
  /** Puts content in place (null: it is there), then lets threads have the right. */
  install(block: number, content: C | null, right: Right): void;
  /** Leaves threads this right at most; `restricted` follows when none uses more. */
  restrict(block: number, right: Rights): void;
  /** The machine has no right to any block: no operation is waited for. */
  ended(): void;
  /** The server's content is not as written: waiting threads are told. */
  spoiled(block: number): void;
  /** The content of a block that stands still. */
  contentOf(block: number): C;
  /** The server has the content as it was sent. */
  clean(block: number): void;
  /** The server has what was written before the flush was asked for. */
  flushed(block: number): void;
  /** What was written is lost: another machine had the block first, or the server forgot it. */
  lost(block: number): void;
  /** The server has forgotten the array, and no thread has any right to it. */
  forgotten(): void;
}

export class Cache<C> {
  /**
   * A block that kept a session from beginning when that was looked at last: with many blocks, all
   * are looked at once and not for each.
   */
  private inTheWay = 0;

  constructor(
    readonly state: CacheState,
    private readonly commands: CacheCommands<C>,
  ) {}

  static empty(blocks: number, made: string): CacheState {
    const block = (): CachedBlock => ({
      right: 'none',
      epoch: 0,
      version: 0,
      changed: false,
      unheard: 0,
      wanted: 'none',
      waiting: false,
      recalled: 'none',
      flush: false,
      doing: 'nothing',
      target: 'none',
    });
    return {
      connected: false,
      session: 0,
      previous: 0,
      flushes: 0,
      greeting: false,
      coming: 0,
      made,
      forgotten: false,
      blocks: Array.from({ length: blocks }, block),
    };
  }

  touch(block: number, right: Right): void {
    const state = this.state.blocks[block];
    // One that waits already asks for more when it has what it waits for: what was granted
    // meanwhile may be on its way.
    if (exceeds(right, state.wanted)) state.wanted = right;
    this.goOn(block);
  }

  flush(block: number): void {
    this.state.blocks[block].flush = true;
    this.goOn(block);
  }

  /** No thread waits any more. What is granted is given up when others want it. */
  forget(block: number): void {
    this.state.blocks[block].wanted = 'none';
  }

  /** As `forget`, and the server is not to grant it. The release gives back what it has. */
  withdraw(block: number): void {
    this.forget(block);
    const state = this.state.blocks[block];
    if (!state.waiting || state.doing !== 'nothing') return;
    state.waiting = false;
    this.commands.send({ kind: 'release', session: this.state.session, block });
  }

  /** The holder's lease may be over, which the server notices when asked to look. */
  remind(): void {
    const { session, blocks } = this.state;
    for (const [block, { waiting }] of blocks.entries())
      if (waiting) this.commands.send({ kind: 'remind', session, block });
  }

  connected(): void {
    this.state.connected = true;
    this.endSession();
  }

  /** Nothing of this connection will be heard. Rights last until the lease is over. */
  disconnected(): void {
    this.state.connected = false;
    this.state.greeting = false;
    this.state.coming = 0;
  }

  /** By the clock of this machine, which must be earlier than the server's. */
  leaseEnded(): void {
    if (this.state.session !== 0) this.endSession();
  }

  installed(block: number): void {
    const state = this.state.blocks[block];
    state.doing = 'nothing';
    state.right = state.target as Right;
    if (!exceeds(state.wanted, state.right)) state.wanted = 'none';
    this.goOn(block);
  }

  /**
   * The content could not be put in its place: threads that wait for it are told, or ask again, and
   * the block is given up. Its content stays with the machine.
   */
  notInstalled(block: number): void {
    const state = this.state.blocks[block];
    state.wanted = 'none';
    state.target = 'none';
    this.restricted(block, false);
  }

  /** @param changed whether the content is other than the server gave it, or got it */
  restricted(block: number, changed: boolean): void {
    const state = this.state.blocks[block];
    state.doing = 'nothing';
    if (changed) state.changed = true;
    const left = meanwhile(state.target);
    if (exceeds(state.right, left)) state.right = left;
    if (this.state.session === 0) this.goOn(block);
    else if (state.epoch === 0) {
      // The release ends the wait, too.
      state.waiting = false;
      this.commands.send({ kind: 'release', session: this.state.session, block });
      this.goOn(block);
    } else this.send(block, state, changed);
  }

  private send(block: number, { epoch, target: keep }: CachedBlock, changed: boolean): void {
    const content = changed ? this.commands.contentOf(block) : null;
    const state = this.state.blocks[block];
    state.doing = 'sending';
    // What is sent again is what the server may have.
    if (changed && state.unheard === 0) state.unheard = ++this.state.flushes;
    const flush = changed ? state.unheard : 0;
    this.commands.send({
      kind: 'flush',
      session: this.state.session,
      block,
      epoch,
      flush,
      content,
      keep,
    });
  }

  notice(notice: Exclude<Notice<C>, { kind: 'lost' }>): void {
    if (notice.to !== this.state.session) return;
    const state = this.state.blocks[notice.block];
    if (notice.kind === 'recall') {
      if (exceeds(notice.right, state.recalled)) state.recalled = notice.right;
      this.goOn(notice.block);
    } else if (state.waiting && state.doing === 'nothing') {
      state.waiting = false;
      this.granted(notice);
    }
    // What was granted while a copy is given up, or before the server heard of that, the release
    // gives back, too.
  }

  /**
   * @param session the one that there was when the request was said: none for a greeting and a
   * claim
   */
  reply(session: number, reply: Reply<C>): void {
    if (session !== this.state.session) return;
    switch (reply.kind) {
      case 'welcome':
        this.claim(reply.session);
        return;
      case 'claimed':
        this.claimed(reply);
        return;
      case 'forgotten':
        this.state.greeting = false;
        this.state.forgotten = true;
        this.commands.forgotten();
        return;
      case 'granted':
        this.granted(reply);
        return;
      case 'wait': {
        const state = this.state.blocks[reply.block];
        state.doing = 'nothing';
        state.waiting = true;
        break;
      }
      case 'flushed':
        this.sent(reply);
        break;
      case 'refused':
        this.endSession();
        return;
    }
    this.goOn(reply.block);
  }

  private granted({ block, right, epoch, version, content }: Granted<C>): void {
    const state = this.state.blocks[block];
    if (content === SPOILED) {
      // What came with it is given back before any thread has it.
      this.commands.spoiled(block);
      this.notInstalled(block);
      return;
    }
    state.version = version;
    if (right === 'write') state.epoch = epoch;
    this.install(block, content, right);
  }

  private sent({ block, version }: Extract<Reply<C>, { kind: 'flushed' }>): void {
    const state = this.state.blocks[block];
    state.doing = 'nothing';
    state.version = version;
    state.changed = false;
    state.unheard = 0;
    if (state.target !== 'write') state.epoch = 0;
    this.commands.clean(block);
    this.endFlush(block);
  }

  private endFlush(block: number): void {
    const state = this.state.blocks[block];
    if (!state.flush) return;
    state.flush = false;
    this.commands.flushed(block);
  }

  private claim(session: number): void {
    const { previous, blocks } = this.state;
    this.state.coming = session;
    const claims: Claim[] = [];
    for (const [block, { epoch, version, changed, unheard }] of blocks.entries())
      if (epoch !== 0)
        claims.push({ block, epoch, version: changed ? 0 : version, flush: unheard });
    this.commands.send({ kind: 'claim', session, previous, claims });
  }

  private claimed({ kept, lost, older }: Extract<Reply<C>, { kind: 'claimed' }>): void {
    const { coming } = this.state;
    this.state.session = coming;
    this.state.previous = coming;
    this.state.coming = 0;
    this.state.greeting = false;
    const keeps = new Set(kept);
    const others = new Set(lost);
    const gone = new Set(older);
    for (const [block, state] of this.state.blocks.entries()) {
      if (state.epoch === 0 || keeps.has(block)) continue;
      // Flushed, and others may have written since; or lost, here or at the server.
      const isLost = (others.has(block) && state.changed) || gone.has(block);
      state.epoch = 0;
      state.version = 0;
      state.changed = false;
      if (isLost) {
        state.flush = false;
        this.commands.lost(block);
      } else {
        this.commands.clean(block);
        this.endFlush(block);
      }
    }
    for (const block of this.state.blocks.keys()) this.goOn(block);
  }

  /** Nothing that was asked in the session is answered any more. */
  private endSession(): void {
    this.state.session = 0;
    this.state.greeting = false;
    this.state.coming = 0;
    this.commands.ended();
    for (const [block, state] of this.state.blocks.entries()) {
      state.waiting = false;
      state.recalled = 'none';
      if (state.doing === 'asking' || state.doing === 'sending') state.doing = 'nothing';
      this.goOn(block);
    }
    this.greet();
  }

  /** Begins a session, when no thread uses what an earlier one gave. */
  private greet(): void {
    const { connected, session, greeting, made, forgotten } = this.state;
    if (!connected || session !== 0 || greeting || forgotten) return;
    if (this.isInUse()) return;
    this.state.greeting = true;
    this.commands.send({ kind: 'hello', made });
  }

  /** Whether threads use what an earlier session gave. */
  private isInUse(): boolean {
    const { blocks } = this.state;
    const isUsed = ({ doing, right }: CachedBlock): boolean =>
      doing !== 'nothing' || right !== 'none';
    if (isUsed(blocks[this.inTheWay])) return true;
    this.inTheWay = Math.max(blocks.findIndex(isUsed), 0);
    return isUsed(blocks[this.inTheWay]);
  }

  /** What is to be done next with a block. */
  private goOn(block: number): void {
    const state = this.state.blocks[block];
    if (state.doing !== 'nothing') return;
    if (this.state.session === 0) {
      if (state.right !== 'none') this.restrict(block, 'none');
      else this.greet();
      return;
    }
    const { recalled } = state;
    state.recalled = 'none';
    const owned = state.epoch !== 0;
    if (recalled === 'write' && (owned || state.right !== 'none')) this.restrict(block, 'none');
    // A copy that no thread may read would never be given up: only a thread's right says that it is
    // there.
    else if (recalled === 'read' && owned)
      this.restrict(block, state.right === 'none' ? 'none' : 'read');
    else if (state.flush) {
      if (owned) this.restrict(block, 'write');
      else this.endFlush(block);
    } else if (exceeds(state.wanted, state.right)) this.want(block);
  }

  private want(block: number): void {
    const state = this.state.blocks[block];
    const right = state.wanted as Right;
    if (state.epoch !== 0) this.install(block, null, right);
    else if (!state.waiting) {
      state.doing = 'asking';
      this.commands.send({
        kind: 'acquire',
        session: this.state.session,
        block,
        right,
        have: state.version,
      });
    }
  }

  private install(block: number, content: C | null, right: Right): void {
    const state = this.state.blocks[block];
    state.doing = 'installing';
    state.target = right;
    if (right === 'write') state.unheard = 0;
    this.commands.install(block, content, right);
  }

  private restrict(block: number, keep: Rights): void {
    const state = this.state.blocks[block];
    state.doing = 'restricting';
    state.target = keep;
    this.commands.restrict(block, meanwhile(keep));
  }
}

/** What threads may do with a block while it is flushed: nothing moves under the content. */
function meanwhile(kept: Rights): Rights {
  return kept === 'none' ? 'none' : 'read';
}
