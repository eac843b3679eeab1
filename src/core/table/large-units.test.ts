import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, PAGES_PER_BLOCK as BLOCK, HOST_NODE, Status } from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';

/** Blocks of a unit: 4 MiB. */
const BLOCKS = 2;
const UNIT = BLOCKS * BLOCK;

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
  device = manager.addDevice(deviceOf(4, { granularityBytes: UNIT * 4096, frames: 'pooled' }));
});

const touch = (page: number, write = false): void => {
  manager.fault(device.processor, page, write, 1);
  manager.checkInvariants();
};
const backed = (): number => manager.node(device.node)?.backedPages ?? -1;
const has = (page: number): boolean => hasPage(manager, device.processor, page);

describe('a device with units of several blocks', () => {
  it('gets memory for a unit with its first block, and no more for the next one', () => {
    const first = allocateIn(manager, UNIT);
    touch(first);
    expect(backed()).toBe(UNIT);
    touch(first + BLOCK);
    expect(backed()).toBe(UNIT);
    // A driver is told of the first copy to each block.
    expect(heard).toHaveLength(UNIT / 64);
    expect(heard.every((line) => line.endsWith('new'))).toBe(true);
  });

  it('gives a unit back with its last block, and names all of it then', () => {
    const first = allocateIn(manager, BLOCK);
    const second = allocateIn(manager, BLOCK);
    touch(first);
    touch(second);
    heard = [];
    manager.free(1, first, BLOCK);
    expect([heard, backed()]).toEqual([[`release ${first}+${BLOCK}`], UNIT]);
    manager.free(2, second, BLOCK);
    expect(heard).toEqual([`release ${first}+${BLOCK}`, `release ${first}+${UNIT}`]);
    expect(backed()).toBe(0);
    manager.checkInvariants();
  });

  it('makes room by a unit, of which all blocks go', () => {
    const first = allocateIn(manager, 3 * UNIT);
    for (let block = 0; block < 4; block++) touch(first + block * BLOCK, true);
    expect(backed()).toBe(2 * UNIT);
    touch(first + 2 * UNIT);
    expect(backed()).toBe(2 * UNIT);
    expect([0, 1, 2, 3, 4].map((block) => has(first + block * BLOCK))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('keeps a unit of which a block is held', () => {
    const first = allocateIn(manager, 3 * UNIT);
    for (let block = 0; block < 4; block++) touch(first + block * BLOCK, true);
    manager.acquire(1, device.processor, first, 1, Access.Read, { hold: true });
    touch(first + 2 * UNIT);
    expect([0, 1, 2, 3].map((block) => has(first + block * BLOCK))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it('gives a block no memory again that its driver may still use', () => {
    const first = allocateIn(manager, UNIT);
    touch(first);
    touch(first + BLOCK);
    later = true;
    // Stale memory, which goes where room is needed for others.
    manager.bring(1, HOST_NODE, first, BLOCK, Access.Write);
    touch(allocateIn(manager, 2 * UNIT) + UNIT);
    expect(tokens).toHaveLength(0);
    touch(allocateIn(manager, UNIT));
    heard = [];
    touch(first, true);
    expect(heard).toEqual([]);
    while (tokens.length > 0) manager.released(tokens.shift() ?? -1);
    manager.checkInvariants();
    expect(has(first)).toBe(true);
  });

  it('counts a unit until its driver uses nothing of it', () => {
    const first = allocateIn(manager, UNIT);
    touch(first, true);
    touch(first + BLOCK, true);
    later = true;
    manager.detach(device.processor);
    manager.checkInvariants();
    expect([tokens.length, backed()]).toEqual([2, UNIT]);
    manager.released(tokens[1]);
    manager.checkInvariants();
    expect(backed()).toBe(UNIT);
    manager.released(tokens[0]);
    expect(manager.node(device.node)).toBeUndefined();
  });

  it('counts whole units for a launch', () => {
    const first = allocateIn(manager, UNIT);
    const other = allocateIn(manager, 10);
    const use = 'in';
    const pages = (at: number, count: number) =>
      manager.launchPages([{ first: at, count, use }], device.processor);
    expect(pages(first, UNIT)).toBe(UNIT);
    expect(pages(other, 3)).toBe(UNIT);
    expect(pages(first + 1, UNIT - 1)).toBe(UNIT);
  });

  it('needs a unit for each thread, and one', () => {
    const small = deviceOf(4, { granularityBytes: 2 * UNIT * 4096 });
    expect(() => managerOf(hostOf(8), commands, policies).addDevice(small)).toThrow(
      /at least 4096 pages \(8 MiB a thread, and 8 MiB\)/,
    );
  });
});
