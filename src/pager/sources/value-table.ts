/**
 * Which values of a server have which frames. A block of frames (2 MiB) that is written at once
 * becomes one value, since large ones cost the server and us least for each byte. Any other block
 * has one for each group of frames (64 KiB), so that a server gives little to pages that were
 * written alone. What is one value stays so until none of its frames is used, so that it is never
 * cut while it is read.
 *
 * The memory is shared by the manager, which notes what is used, and the threads that speak with
 * the server, of which the one that writes joins groups and parts them. Frames that are being
 * written, or have been given back, are not read: so it never changes under a reader.
 */
import {
  BLOCK_BYTES,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
} from '../../core/basics/types.js';

const GROUP_BYTES = PAGES_PER_GROUP * PAGE_BYTES;
const GROUPS_PER_BLOCK = PAGES_PER_BLOCK / PAGES_PER_GROUP;
/** What has the frames of a block: nothing so far, one value, or one for each group. */
const Form = { None: 0, Block: 1, Groups: 2 } as const;

export interface ValueMemory {
  /** A mask for each group: frames that were written and not given back. */
  readonly groups: SharedArrayBuffer;
  readonly blocks: SharedArrayBuffer;
}

export interface Value {
  /** The first group of frames that it has. */
  readonly group: number;
  readonly isBlock: boolean;
  readonly offset: number;
  readonly bytes: number;
}

export class ValueTable {
  private readonly groups: Uint16Array;
  private readonly blocks: Uint8Array;

  constructor(readonly memory: ValueMemory) {
    this.groups = new Uint16Array(memory.groups);
    this.blocks = new Uint8Array(memory.blocks);
  }

  static of(bytes: number): ValueTable {
    const groups = new SharedArrayBuffer(Math.ceil(bytes / GROUP_BYTES) * 2);
    return new ValueTable({
      groups,
      blocks: new SharedArrayBuffer(Math.ceil(bytes / BLOCK_BYTES)),
    });
  }

  at(offset: number): Value {
    const block = Math.floor(offset / BLOCK_BYTES);
    return this.blocks[block] === Form.Block
      ? blockValue(block)
      : groupValue(Math.floor(offset / GROUP_BYTES));
  }

  /** A part of a block is about to be written. */
  writePart(offset: number): void {
    const block = Math.floor(offset / BLOCK_BYTES);
    if (this.blocks[block] === Form.None) this.blocks[block] = Form.Groups;
  }

  /** All of a block will be written, as one value. Returns those that it replaces. */
  writeBlock(offset: number): Value[] {
    const block = Math.floor(offset / BLOCK_BYTES);
    const before = this.blocks[block];
    this.blocks[block] = Form.Block;
    if (before !== Form.Groups) return [];
    return Array.from({ length: GROUPS_PER_BLOCK }, (_, at) =>
      groupValue(block * GROUPS_PER_BLOCK + at),
    );
  }

  note(offset: number, length: number, used: boolean): void {
    const end = (offset + length) / PAGE_BYTES;
    for (let frame = offset / PAGE_BYTES; frame < end; ) {
      const group = Math.floor(frame / PAGES_PER_GROUP);
      const next = Math.min(end, (group + 1) * PAGES_PER_GROUP);
      const frames = ((1 << (next - frame)) - 1) << (frame - group * PAGES_PER_GROUP);
      if (used) this.groups[group] |= frames;
      else this.groups[group] &= ~frames;
      frame = next;
    }
  }

  isUsed(value: Value): boolean {
    return this.groups
      .subarray(value.group, value.group + groupsOf(value))
      .some((frames) => frames !== 0);
  }

  /** Values of these frames with nothing left. A block without any may take any form. */
  unused(offset: number, length: number): Value[] {
    const found = this.values(offset, offset + length).filter((value) => !this.isUsed(value));
    for (const { group } of found) {
      const block = Math.floor(group / GROUPS_PER_BLOCK);
      if (!this.isUsed(blockValue(block))) this.blocks[block] = Form.None;
    }
    return found;
  }

  /** All values that something is left in. */
  *used(): Generator<Value> {
    for (let group = 0; group < this.groups.length; group++) {
      if (this.groups[group] === 0) continue;
      const value = this.at(group * GROUP_BYTES);
      yield value;
      group = value.group + groupsOf(value) - 1;
    }
  }

  private values(begin: number, end: number): Value[] {
    const values: Value[] = [];
    for (let at = begin; at < end; ) {
      const value = this.at(at);
      values.push(value);
      at = value.offset + value.bytes;
    }
    return values;
  }
}

function groupsOf({ isBlock }: Value): number {
  return isBlock ? GROUPS_PER_BLOCK : 1;
}

function blockValue(block: number): Value {
  return {
    group: block * GROUPS_PER_BLOCK,
    isBlock: true,
    offset: block * BLOCK_BYTES,
    bytes: BLOCK_BYTES,
  };
}

function groupValue(group: number): Value {
  return { group, isBlock: false, offset: group * GROUP_BYTES, bytes: GROUP_BYTES };
}
