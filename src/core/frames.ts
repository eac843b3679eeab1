/**
 * Physical memory of a pooled node. Root chunks of 2 MiB are split lazily into 64 KiB groups and 4 KiB frames, and merge as
 * soon as their last part is free, so that large chunks stay available (the scheme of NVIDIA's UVM driver).
 */
import { IntrusiveList } from './intrusive-list.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from './types.js';

const GROUPS_PER_ROOT = PAGES_PER_BLOCK / PAGES_PER_GROUP;

export class FrameAllocator {
  /** Frames that nobody holds. */
  free: number;
  private readonly used: Uint8Array;
  private readonly usedInGroup: Uint8Array;
  private readonly usedInRoot: Uint16Array;
  /** Groups of the root that are partly or wholly used. */
  private readonly touchedGroups: Uint8Array;
  private readonly freeRoots = new IntrusiveList();
  private readonly rootsWithFreeGroup = new IntrusiveList();
  private readonly groupsWithFreeFrame = new IntrusiveList();

  /** @param frames how many 4 KiB frames there are; a part of a root at the end serves small chunks only */
  constructor(readonly frames: number) {
    const roots = Math.ceil(frames / PAGES_PER_BLOCK);
    this.free = frames;
    this.used = new Uint8Array(roots * PAGES_PER_BLOCK);
    this.usedInGroup = new Uint8Array(roots * GROUPS_PER_ROOT);
    this.usedInRoot = new Uint16Array(roots);
    this.touchedGroups = new Uint8Array(roots);
    for (let root = 0; root < roots; root++) this.freeRoots.append(root);
    // Frames past the end are taken for ever, which also keeps the last, shorter root from being handed out whole.
    for (let frame = frames; frame < roots * PAGES_PER_BLOCK; frame++) this.take(frame, 1);
    this.free = frames;
  }

  /** The first of `count` neighbouring frames (512, 16 or 1), or -1 when there is no such chunk. */
  allocate(count: 512 | 16 | 1): number {
    let frame = -1;
    if (count === PAGES_PER_BLOCK) {
      if (this.freeRoots.head !== -1) frame = this.freeRoots.head * PAGES_PER_BLOCK;
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

  private freeGroup(): number {
    let root = this.rootsWithFreeGroup.head;
    if (root === -1) root = this.freeRoots.head;
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
