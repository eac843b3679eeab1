/**
 * Spaces that the tests of a file share, since to open one takes longer than most tests. A test
 * asks for a space with the options that it needs and closes it as it would its own. It gets one
 * that an earlier test has closed, if there is one with the same options in which nothing is left;
 * what was counted in it before (faults, launches, bytes moved) is not forgotten, so that a test
 * compares counts with those that it found. A test that breaks a device or is about opening and
 * closing has a space of its own.
 */
import {
  type AddressSpace,
  type ManagedArray,
  openSpace,
  type SpaceOptions,
} from '../../src/index.js';
import { sleep, whenFailedOrDone } from './suite.js';

/** More would slow each other down: each has a manager that looks around from time to time. */
const MOST_IDLE = 4;
/** What takes longer is not waited for. */
const SETTLE_MS = 200;

interface Shared {
  readonly options: string;
  readonly space: AddressSpace;
  /** Arrays that were made by the test that has the space. */
  readonly arrays: Set<ManagedArray>;
  /** Ends the space. */
  readonly end: () => Promise<void>;
}

/** The one that was used last comes last. */
const idle: Shared[] = [];

export async function sharedSpace(options: SpaceOptions = {}): Promise<AddressSpace> {
  const text = JSON.stringify(options);
  const at = idle.findLastIndex((each) => each.options === text);
  return at === -1 ? share(text, await openSpace(options)) : idle.splice(at, 1)[0].space;
}

/** Bytes that all processors of a space have read from files. */
export function bytesFromFiles(space: AddressSpace): number {
  return space.stats().processors.reduce((sum, each) => sum + each.bytesFromFiles, 0);
}

function share(options: string, space: AddressSpace): AddressSpace {
  const shared: Shared = { options, space, arrays: new Set(), end: space.close.bind(space) };
  const { arrays } = shared;
  for (const name of ['array', 'bytes', 'fileArray'] as const) {
    const make = space[name].bind(space) as (...args: unknown[]) => ManagedArray;
    Object.assign(space, { [name]: (...args: unknown[]) => watched(make(...args), arrays) });
  }
  const provide = space.providedArray.bind(space) as (...args: unknown[]) => Promise<ManagedArray>;
  const openNpy = space.openNpy.bind(space);
  Object.assign(space, {
    providedArray: async (...args: unknown[]) => watched(await provide(...args), arrays),
    openNpy: (...args: Parameters<typeof openNpy>) => {
      const opened = openNpy(...args);
      watched(opened.array as ManagedArray, arrays);
      return opened;
    },
    close: async (...how: Parameters<typeof space.close>) => {
      if (space.isClosed || how.length > 0 || !(await isAsNew(shared))) await shared.end();
      else {
        idle.push(shared);
        if (idle.length > MOST_IDLE) await idle.shift()?.end();
      }
    },
  });
  return space;
}

function watched(array: ManagedArray, arrays: Set<ManagedArray>): ManagedArray {
  arrays.add(array);
  const clone = array.clone.bind(array);
  array.clone = async (...args) => watched(await clone(...args), arrays);
  return array;
}

/** Frees what a test has left in its space. False if something of it is there all the same. */
async function isAsNew({ space, arrays, options }: Shared): Promise<boolean> {
  const { devices = [] } = JSON.parse(options) as SpaceOptions;
  try {
    // Clones before their sources, which would have to give them their content first.
    for (const array of [...arrays].reverse()) array.free();
  } catch {
    return false;
  }
  arrays.clear();
  space.checkInvariants();
  // What was under way when its array was freed gives its memory back when it ends.
  for (const end = performance.now() + SETTLE_MS; ; await sleep(2)) {
    // Addresses of freed arrays stay taken while views of them are left: of ranges there may be
    // some.
    const { processors, allocatedBytes, notifiers, pinnedBytes } = space.stats();
    if (processors.length !== devices.length + 1 || !processors.every(({ alive }) => alive))
      return false;
    const backedBytes = processors.reduce((sum, each) => sum + each.backedBytes, 0);
    if (allocatedBytes + notifiers + pinnedBytes + backedBytes === 0) return true;
    if (performance.now() > end) return false;
  }
}

// What is left of the spaces after something went wrong proves nothing about the next test.
whenFailedOrDone(async () => {
  for (const { end } of idle.splice(0)) await end();
});
