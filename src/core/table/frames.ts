/**
 * Physical memory of a pooled node. Root chunks of 2 MiB are split lazily into 64 KiB groups and 4
 * KiB frames, and merge as soon as their last part is free, so that large chunks stay available
 * (the scheme of NVIDIA's UVM driver).
 */
import { IntrusiveList } from '../basics/intrusive-list.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../basics/types.js';

const GROUPS_PER_ROOT = PAGES_PER_BLOCK / PAGES_PER_GROUP;
/**
 * Roots that are opened at once: frames that are not needed take no memory for their books, and a
 * store reuses its frames before it grows.
 */
const OPENED_ROOTS = 64;

/** The free frames of a node. */
export interface Frames {
  readonly frames: number;
  readonly free: number;
  /** The first of `count` neighbouring frames, or -1 when there is no such chunk. */
  allocate(count: number): number;
  /** Gives `count` neighbouring frames back; they need not be what one call allocated. */
  release(frame: number, count: number): void;
  /** How many pieces the free frames lie in, and how many the largest of them has. */
  pieces(): { count: number; largest: number };
}

/** For a node whose memory is given by granules of so many frames. */
export function framesOf(frames: number, granuleFrames: number): Frames {
  return granuleFrames === 1
    ? new FrameAllocator(frames)
    : new GranuleAllocator(frames, granuleFrames);
}

/** Whole granules: neighbouring frames from a multiple of their number on. */
class GranuleAllocator implements Frames {
  private readonly granules: FrameAllocator;

  constructor(
    frames: number,
    private readonly granuleFrames: number,
  ) {
    this.granules = new FrameAllocator(Math.floor(frames / granuleFrames));
  }

  get frames(): number {
    return this.granules.frames * this.granuleFrames;
  }

  get free(): number {
    return this.granules.free * this.granuleFrames;
  }

  /** One granule. */
  allocate(_count: number): number {
    const granule = this.granules.allocate(1);
    return granule === -1 ? -1 : granule * this.granuleFrames;
  }

  release(frame: number, count: number): void {
    this.granules.release(frame / this.granuleFrames, count / this.granuleFrames);
  }

  pieces(): { count: number; largest: number } {
    const { count, largest } = this.granules.pieces();
    return { count, largest: largest * this.granuleFrames };
  }
}

export class FrameAllocator implements Frames {
  free: number;
  private used = new Uint8Array(0);
  private usedInGroup = new Uint8Array(0);
  private usedInRoot = new Uint16Array(0);
  /** Groups of the root that are partly or wholly used. */
  private touchedGroups = new Uint8Array(0);
  /** Roots that have been opened, and how many there are. */
  private opened = 0;
  private readonly roots: number;
  private readonly freeRoots = new IntrusiveList();
  private readonly rootsWithFreeGroup = new IntrusiveList();
  private readonly groupsWithFreeFrame = new IntrusiveList();

  /** @param frames of 4 KiB; a part of a root at the end serves small chunks only */
  constructor(readonly frames: number) {
    this.roots = Math.ceil(frames / PAGES_PER_BLOCK);
    this.free = frames;
    this.openMore();
  }

  /** The first of `count` neighbouring frames (512, 16 or 1), or -1 when there is no such chunk. */
  allocate(count: number): number {
    let frame = -1;
    if (count === PAGES_PER_BLOCK) {
      const root = this.freeRoot();
      if (root !== -1) frame = root * PAGES_PER_BLOCK;
    } else if (count === PAGES_PER_GROUP) {
      frame = this.freeGroup();
    } else if (this.groupsWithFreeFrame.head !== -1) {
      frame = this.groupsWithFreeFrame.head * PAGES_PER_GROUP;
      while (this.used[frame] === 1) frame++;
    } else {
      frame = this.freeGroup();
    }
    if (frame !== -1) this.take(frame, count);
    return frame;
  }

  /** Gives `count` neighbouring frames back; they need not be what one call allocated. */
  release(frame: number, count: number): void {
    for (let each = frame; each < frame + count; each++) {
      if (this.used[each] !== 1) throw new Error(`frame ${each} is released but not in use`);
      this.used[each] = 0;
      const group = Math.floor(each / PAGES_PER_GROUP);
      const root = Math.floor(each / PAGES_PER_BLOCK);
      if (--this.usedInGroup[group] === 0) this.touchedGroups[root]--;
      this.usedInRoot[root]--;
      this.free++;
      this.file(group, root);
    }
  }

  /** How many pieces the free frames lie in, and how many the largest of them has. */
  pieces(): { count: number; largest: number } {
    const { frames, opened, used } = this;
    const end = Math.min(opened * PAGES_PER_BLOCK, frames);
    let count = 0;
    let largest = 0;
    let length = 0;
    const close = (): void => {
      if (length === 0) return;
      count++;
      largest = Math.max(largest, length);
      length = 0;
    };
    for (let frame = 0; frame < end; frame++) {
      if (used[frame] === 0) length++;
      else close();
    }
    // What has not been opened has never been used.
    length += frames - end;
    close();
    return { count, largest };
  }

  private freeRoot(): number {
    if (this.freeRoots.head === -1) this.openMore();
    return this.freeRoots.head;
  }

  /** Opens further roots, if there are any. */
  private openMore(): void {
    const { frames, roots, opened } = this;
    if (opened === roots) return;
    const end = Math.min(roots, opened + OPENED_ROOTS);
    this.opened = end;
    if (end * PAGES_PER_BLOCK > this.used.length) {
      const room = Math.min(roots, Math.max(end, opened * 2));
      this.used = larger(this.used, new Uint8Array(room * PAGES_PER_BLOCK));
      this.usedInGroup = larger(this.usedInGroup, new Uint8Array(room * GROUPS_PER_ROOT));
      this.usedInRoot = larger(this.usedInRoot, new Uint16Array(room));
      this.touchedGroups = larger(this.touchedGroups, new Uint8Array(room));
    }
    for (let root = opened; root < end; root++) this.freeRoots.append(root);
    // Frames past the end are taken for ever, which also keeps the last, shorter root from being
    // handed out whole.
    const { free } = this;
    for (let frame = frames; frame < end * PAGES_PER_BLOCK; frame++) this.take(frame, 1);
    this.free = free;
  }

  private freeGroup(): number {
    let root = this.rootsWithFreeGroup.head;
    if (root === -1) root = this.freeRoot();
    if (root === -1) return -1;
    let group = root * GROUPS_PER_ROOT;
    while (this.usedInGroup[group] !== 0) group++;
    return group * PAGES_PER_GROUP;
  }

  private take(frame: number, count: number): void {
    for (let each = frame; each < frame + count; each++) {
      this.used[each] = 1;
      const group = Math.floor(each / PAGES_PER_GROUP);
      const root = Math.floor(each / PAGES_PER_BLOCK);
      if (this.usedInGroup[group]++ === 0) this.touchedGroups[root]++;
      this.usedInRoot[root]++;
      this.free--;
      this.file(group, root);
    }
  }

  /** Keeps the lists of what has room in step with the counts. */
  private file(group: number, root: number): void {
    const inGroup = this.usedInGroup[group];
    if (inGroup > 0 && inGroup < PAGES_PER_GROUP) {
      if (!this.groupsWithFreeFrame.has(group)) this.groupsWithFreeFrame.append(group);
    } else this.groupsWithFreeFrame.remove(group);
    if (this.usedInRoot[root] === 0) {
      if (!this.freeRoots.has(root)) this.freeRoots.append(root);
    } else this.freeRoots.remove(root);
    if (this.usedInRoot[root] > 0 && this.touchedGroups[root] < GROUPS_PER_ROOT) {
      if (!this.rootsWithFreeGroup.has(root)) this.rootsWithFreeGroup.append(root);
    } else this.rootsWithFreeGroup.remove(root);
  }
}

function larger<T extends Uint8Array | Uint16Array>(array: T, into: T): T {
  into.set(array);
  return into;
}
