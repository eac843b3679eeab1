import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, PAGES_PER_BLOCK as BLOCK, HOST_NODE, Status } from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';

/** Blocks of a granule: 4 MiB. */
const BLOCKS = 2;
const GRANULE = BLOCKS * BLOCK;

let manager: OpenManager;
let heard: string[];
let device: { processor: number; node: number };
let later: boolean;
let tokens: number[];

const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
const commands = commandsThat({
  transfer: ({ page, count, node, backed }) => {
    heard.push(`copy ${page}+${count} to ${node}${backed ? '' : ', new'}`);
    return Status.Done;
  },
  release: (token, node, page, count) => {
    if (node !== HOST_NODE) heard.push(`release ${page}+${count}`);
    if (!later || node === HOST_NODE) return Status.Done;
    tokens.push(token);
    return Status.Pending;
  },
});

beforeEach(() => {
  heard = [];
  later = false;
  tokens = [];
  manager = managerOf(hostOf(32), commands, policies);
  device = manager.addDevice(deviceOf(4, { granularityBytes: GRANULE * 4096, frames: 'pooled' }));
});

const touch = (page: number, write = false): void => {
  manager.fault(device.processor, page, write, 1);
  manager.checkInvariants();
};
const backed = (): number => manager.node(device.node)?.backedPages ?? -1;
const has = (page: number): boolean => hasPage(manager, device.processor, page);

describe('a device with granules of several blocks', () => {
  it('gets memory for a granule with its first block, and no more for the next one', () => {
    const first = allocateIn(manager, GRANULE);
    touch(first);
    expect(backed()).toBe(GRANULE);
    touch(first + BLOCK);
    expect(backed()).toBe(GRANULE);
    // A driver is told of the first copy to each block.
    expect(heard).toHaveLength(GRANULE / 64);
    expect(heard.every((line) => line.endsWith('new'))).toBe(true);
  });

  it('gives a granule back with its last block, and names all of it then', () => {
    const first = allocateIn(manager, BLOCK);
    const second = allocateIn(manager, BLOCK);
    touch(first);
    touch(second);
    heard = [];
    manager.free(1, first, BLOCK);
    expect([heard, backed()]).toEqual([[`release ${first}+${BLOCK}`], GRANULE]);
    manager.free(2, second, BLOCK);
    expect(heard).toEqual([`release ${first}+${BLOCK}`, `release ${first}+${GRANULE}`]);
    expect(backed()).toBe(0);
    manager.checkInvariants();
  });

  it('makes room by a granule, of which all blocks go', () => {
    const first = allocateIn(manager, 3 * GRANULE);
    for (let block = 0; block < 4; block++) touch(first + block * BLOCK, true);
    expect(backed()).toBe(2 * GRANULE);
    touch(first + 2 * GRANULE);
    expect(backed()).toBe(2 * GRANULE);
    expect([0, 1, 2, 3, 4].map((block) => has(first + block * BLOCK))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('keeps a granule of which a block is held', () => {
    const first = allocateIn(manager, 3 * GRANULE);
    for (let block = 0; block < 4; block++) touch(first + block * BLOCK, true);
    manager.acquire(1, device.processor, first, 1, Access.Read, { hold: true });
    touch(first + 2 * GRANULE);
    expect([0, 1, 2, 3].map((block) => has(first + block * BLOCK))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('gives a block no memory again that its driver may still use', () => {
    const first = allocateIn(manager, GRANULE);
    touch(first);
    touch(first + BLOCK);
    later = true;
    // Stale memory, which goes where room is needed for others.
    manager.bring(1, HOST_NODE, first, BLOCK, Access.Write);
    touch(allocateIn(manager, 2 * GRANULE) + GRANULE);
    expect(tokens).toHaveLength(0);
    touch(allocateIn(manager, GRANULE));
    heard = [];
    touch(first, true);
    expect(heard).toEqual([]);
    while (tokens.length > 0) manager.released(tokens.shift() ?? -1);
    manager.checkInvariants();
    expect(has(first)).toBe(true);
  });

  it('counts a granule until its driver uses nothing of it', () => {
    const first = allocateIn(manager, GRANULE);
    touch(first, true);
    touch(first + BLOCK, true);
    later = true;
    manager.detach(device.processor);
    manager.checkInvariants();
    expect([tokens.length, backed()]).toEqual([2, GRANULE]);
    manager.released(tokens[1]);
    manager.checkInvariants();
    expect(backed()).toBe(GRANULE);
    manager.released(tokens[0]);
    expect(manager.node(device.node)).toBeUndefined();
  });

  it('counts whole granules for a launch', () => {
    const first = allocateIn(manager, GRANULE);
    const other = allocateIn(manager, 10);
    const use = 'in';
    const pages = (at: number, count: number) =>
      manager.launchPages([{ first: at, count, use }], device.processor);
    expect(pages(first, GRANULE)).toBe(GRANULE);
    expect(pages(other, 3)).toBe(GRANULE);
    expect(pages(first + 1, GRANULE - 1)).toBe(GRANULE);
  });

  it('needs a granule for each thread, and one', () => {
    const small = deviceOf(4, { granularityBytes: 2 * GRANULE * 4096 });
    expect(() => managerOf(hostOf(8), commands, policies).addDevice(small)).toThrow(
      /at least 4096 pages \(8 MiB a thread, and 8 MiB\)/,
    );
  });
});
