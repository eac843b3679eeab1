/**
 * The pages of an array that other machines have, too: what the member that speaks for this machine
 * says of its blocks is done to them, and what threads want is asked of the member. A block is some
 * pages that lie in one block of the core.
 *
 * A block is used on this machine only as far as the member has said. Before the member is told
 * that a block is restricted, all use beyond the new right has ended, and what was written has been
 * copied at a time when no processor could write it. A content that comes takes the place of all
 * that was here, and is used only once all of it is there.
 */

import { Access, type DenyReason, HOST_NODE, Status } from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import type { Range } from '../../../core/table/range.js';
import type { CoreRequests } from '../../core/core-requests.js';

export type SharedRight = 'none' | 'read' | 'write';

/** What the member hears. `C` is the content of a block. */
export interface MemberPort<C> {
  touch(block: number, right: 'read' | 'write'): void;
  installed(block: number): void;
  /** Its content cannot be put in its place; it waits here. */
  notInstalled(block: number, reason: DenyReason): void;
  /** `content` is null where nothing was written since the server had it. */
  restricted(block: number, content: C | null): void;
  /** What was written cannot be had. */
  broken(block: number, reason: DenyReason): void;
}

export interface SharedMemory<C> {
  /** Copies pages of a content, from page `from` of the block on. */
  fill(content: C, from: number, count: number, target: number): void;
  /** A copy of pages of the host, which stand still. */
  copy(page: number, count: number): C;
}

const ACCESS: Record<SharedRight, Access> = {
  none: Access.None,
  read: Access.Read,
  write: Access.Write,
};

export class SharedBlocks<C> {
  /** Contents that are to be put in their places. */
  private readonly arrived = new Map<number, C>();
  /** Blocks that may have been written since the server had their content. */
  private readonly changed = new Set<number>();

  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly range: Range,
    private readonly pagesPerBlock: number,
    private readonly memory: SharedMemory<C>,
    private readonly member: MemberPort<C>,
    /** Pages that threads were denied may be used again. */
    private readonly restore: (firstPage: number, count: number) => void,
  ) {}

  get count(): number {
    return Math.ceil(this.range.pages / this.pagesPerBlock);
  }

  /** A thread waits for a right to a page. */
  wanted(page: number, write: boolean): void {
    this.member.touch(this.blockOf(page), write ? 'write' : 'read');
  }

  /** Puts content in place, unless it is there (null), then lets threads have the right. */
  install(block: number, content: C | null, right: 'read' | 'write'): void {
    if (content !== null) {
      this.arrived.set(block, content);
      this.changed.delete(block);
      this.start(
        block,
        (request, first, count) => this.manager.drop(request, first, count, true),
        () => this.fill(block, right),
      );
    } else if (this.arrived.has(block)) this.fill(block, right);
    else this.allow(block, right);
  }

  /** Leaves threads no more than the right. */
  restrict(block: number, right: 'none' | 'read'): void {
    if (this.changed.has(block)) this.protect(block, 'read', () => this.copyOut(block, right));
    else this.protect(block, right, () => this.member.restricted(block, null));
  }

  /** The server has what was copied last, or what is here is not worth keeping. */
  clean(block: number): void {
    this.changed.delete(block);
  }

  /** Threads that wait are denied the block, or wait for room (MemoryManager.refuse). */
  refuse(block: number, reason: DenyReason): void {
    const { first, count } = this.pagesOf(block);
    this.manager.refuse(first, count, reason);
  }

  /** As ProviderPort.provide. */
  provide(page: number, count: number, target: number): Status {
    const block = this.blockOf(page);
    const content = this.arrived.get(block);
    if (content === undefined) return Status.Failed;
    this.memory.fill(content, page - this.pagesOf(block).first, count, target);
    return Status.Done;
  }

  blockOf(page: number): number {
    return Math.floor((page - this.range.first) / this.pagesPerBlock);
  }

  pagesOf(block: number): { first: number; count: number } {
    const { first, pages } = this.range;
    const from = block * this.pagesPerBlock;
    return { first: first + from, count: Math.min(this.pagesPerBlock, pages - from) };
  }

  private fill(block: number, right: 'read' | 'write'): void {
    this.start(
      block,
      (request, first, count) => this.manager.materialize(request, first, count, false),
      (failure) => {
        if (failure === null) {
          this.arrived.delete(block);
          this.allow(block, right);
          return;
        }
        // The member is told first: threads that wait for room may ask again at once.
        this.member.notInstalled(block, failure);
        this.refuse(block, failure);
      },
    );
  }

  private allow(block: number, right: 'read' | 'write'): void {
    if (right === 'write') this.changed.add(block);
    this.protect(block, right, () => {
      const { first, count } = this.pagesOf(block);
      this.restore(first, count);
      this.member.installed(block);
    });
  }

  /** No processor can write the block now: what is in it is what the server is to have. */
  private copyOut(block: number, right: 'none' | 'read'): void {
    this.start(
      block,
      (request, first, count) =>
        this.manager.bring(request, HOST_NODE, first, count, Access.Read, {
          hold: true,
          overtakes: true,
        }),
      (failure) => {
        if (failure !== null) {
          this.member.broken(block, failure);
          return;
        }
        const { first, count } = this.pagesOf(block);
        const content = this.memory.copy(first, count);
        this.manager.release(HOST_NODE, first, count, Access.Read);
        if (right === 'read') this.member.restricted(block, content);
        else this.protect(block, right, () => this.member.restricted(block, content));
      },
    );
  }

  private protect(block: number, right: SharedRight, done: () => void): void {
    this.start(
      block,
      (request, first, count) => this.manager.protect(request, first, count, ACCESS[right]),
      done,
    );
  }

  private start(
    block: number,
    begin: (request: number, first: number, count: number) => void,
    done: (failure: DenyReason | null) => void,
  ): void {
    const { first, count } = this.pagesOf(block);
    this.requests.start(
      (request) => begin(request, first, count),
      (_pages, failure) => done(failure),
    );
  }
}
