/** Bind groups of a pipeline, kept for the same buffers: one takes as long as a launch. */
import { getOrMake } from '../../../core/basics/get-or-make.js';
import type { Bound, Dispatch } from '../link/protocol.js';

/** Of a pipeline; beyond that all go, since buffers that have gone are not told apart. */
const MOST = 64;

export class BoundGroups<Group> {
  private readonly known = new Map<string, Group>();

  constructor(private readonly release: (group: Group) => void) {}

  /** Before groups of a launch are asked for, which must stay together. */
  trim(): void {
    if (this.known.size >= MOST) this.clear();
  }

  /** @param serialOf tells buffers apart, also those with one number after the other */
  of(
    group: number,
    bound: readonly Bound[],
    serialOf: (buffer: number) => number,
    make: () => Group,
  ): Group {
    let key = `${group}`;
    for (const each of bound) {
      if (each.kind !== 'buffer') continue;
      const [buffer, offset, bytes] = each.part;
      key += ` ${serialOf(buffer)} ${offset} ${bytes}`;
    }
    return getOrMake(this.known, key, make);
  }

  clear(): void {
    for (const group of this.known.values()) this.release(group);
    this.known.clear();
  }
}

/** What is bound in a group. */
export function boundIn({ bound }: Dispatch, group: number): readonly Bound[] {
  return bound.filter((each) => each.group === group);
}

/** Whether a group has the same buffers again: what is copied aside has new ones. */
export function isLasting(bound: readonly Bound[]): boolean {
  return bound.every(({ kind }) => kind !== 'aside');
}

/** Where something is bound. */
export function placeOf({ group, binding }: Bound): string {
  return `${group} ${binding}`;
}
