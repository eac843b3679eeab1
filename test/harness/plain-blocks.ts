/**
 * Blocks of a shared array in plain memory, where a program asks for a right before it uses a
 * block, as a fault does.
 */
import { exceeds, type Right, type Rights } from '../../src/coherence/messages.js';
import { Member, type MemberOptions, type SharedMemory } from '../../src/sharing/member.js';

export class PlainBlocks implements SharedMemory {
  readonly member: Member;
  readonly isHeld = false;
  readonly lostBlocks: number[] = [];
  readonly abandonedBlocks: number[] = [];
  /** That the server did not have as they were written. */
  readonly spoiledBlocks: number[] = [];
  readonly failures: string[] = [];
  /** Told of whatever happens. */
  onChange = (): void => undefined;
  private readonly rights: Rights[] = [];
  private readonly changed: boolean[] = [];
  private readonly contents: Int32Array[] = [];
  private readonly flushes = new Map<number, (flushed: boolean) => void>();
  private waiters: (() => void)[] = [];

  constructor(options: Omit<MemberOptions, 'memory' | 'made'>, words = 16) {
    for (let block = 0; block < options.blocks; block++) {
      this.rights.push('none');
      this.changed.push(false);
      this.contents.push(new Int32Array(words));
    }
    // No program has described the array.
    this.member = new Member({ ...options, made: '', memory: this });
  }

  /** Runs `use` on the words of a block, as soon as that is allowed. */
  async with<T>(block: number, right: Right, use: (words: Int32Array) => T): Promise<T> {
    // Others come to their turn, also while nothing is to be waited for.
    await new Promise(setImmediate);
    while (exceeds(right, this.rights[block])) {
      const changed = this.change();
      this.member.touch(block, right);
      await changed;
    }
    if (right === 'write') this.changed[block] = true;
    return use(this.contents[block]);
  }

  flush(block: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.flushes.set(block, resolve);
      this.member.flush(block);
    });
  }

  /** Until something happens. */
  change(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  install(block: number, content: Uint8Array | null, right: Right): void {
    if (content !== null) {
      const bytes = new Uint8Array(this.contents[block].buffer);
      if (content.length === 0) bytes.fill(0);
      else bytes.set(content);
      this.changed[block] = false;
    }
    this.rights[block] = right;
    queueMicrotask(() => this.member.installed(block));
    this.tell();
  }

  ended(): void {}

  restrict(block: number, right: Rights): void {
    if (exceeds(this.rights[block], right)) this.rights[block] = right;
    queueMicrotask(() => this.member.restricted(block, this.changed[block]));
  }

  spoiled(block: number): void {
    this.spoiledBlocks.push(block);
    this.tell();
  }

  contentOf(block: number): Uint8Array {
    return new Uint8Array(this.contents[block].buffer);
  }

  clean(block: number): void {
    this.changed[block] = false;
  }

  flushed(block: number): void {
    this.endFlush(block, true);
  }

  lost(block: number): void {
    this.lostBlocks.push(block);
    this.changed[block] = false;
    this.endFlush(block, false);
    this.tell();
  }

  abandoned(block: number): void {
    this.abandonedBlocks.push(block);
    this.tell();
  }

  forgotten(): void {
    this.failures.push('forgotten');
  }

  connection(failure: Error | null): void {
    if (failure !== null) this.failures.push(failure.message);
    this.tell();
  }

  private endFlush(block: number, flushed: boolean): void {
    this.flushes.get(block)?.(flushed);
    this.flushes.delete(block);
  }

  private tell(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
    this.onChange();
  }
}
