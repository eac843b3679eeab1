import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  HOST,
  HOST_NODE,
  PAGES_PER_BLOCK,
  type PlacementPolicy,
  type PlacementRequest,
  TURN_LAPSE,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';

let manager: OpenManager;
let device: number;
let other: number;
let first: number;
let asked: PlacementRequest[];

beforeEach(() => {
  asked = [];
  const usual = namedPolicies({ prefetch: 'none' });
  const placement = (): PlacementPolicy => (request) => {
    asked.push({ ...request });
    return request.turns >= 3 ? 'remote' : 'own';
  };
  manager = managerOf(hostOf(32), commandsThat({}), { ...usual, placement, looksAtTurns: true });
  device = manager.addDevice(deviceOf(8, { remoteAccess: true })).processor;
  other = manager.addDevice(deviceOf(8, { name: 'other', remoteAccess: true })).processor;
  first = allocateIn(manager, PAGES_PER_BLOCK);
});

function touch(processor: number, page: number, write: boolean): void {
  if (hasPage(manager, processor, first + page, write ? 'writable' : 'mapped')) return;
  manager.fault(processor, first + page, write, 1);
}

const turns = (): number => manager.state.va.blocks.get(first / PAGES_PER_BLOCK)?.turns ?? -1;

function writeInTurns(times: number): void {
  for (let time = 0; time < times; time++) touch(time % 2 === 0 ? HOST : device, 5, true);
}

describe('turns of a block', () => {
  it('are counted where processors write one page one after the other', () => {
    writeInTurns(6);
    // The first write takes the page from nobody, and before the second was no turn.
    expect(turns()).toBe(4);
  });

  it('are counted where one writes what another reads', () => {
    for (let time = 0; time < 3; time++) {
      touch(HOST, 5, true);
      touch(device, 5, false);
    }
    expect(turns()).toBe(4);
  });

  it('are counted for policies alone that look at them', () => {
    manager = managerOf(hostOf(32), commandsThat({}), namedPolicies({ prefetch: 'none' }));
    device = manager.addDevice(deviceOf(8)).processor;
    first = allocateIn(manager, PAGES_PER_BLOCK);
    writeInTurns(6);
    expect(turns()).toBe(0);
  });

  it('are none where several read what stays where it is', () => {
    for (let page = 0; page < 40; page++) touch(HOST, page, true);
    for (let page = 0; page < 40; page++)
      for (const each of [device, other]) touch(each, page, false);
    expect(turns()).toBe(0);
  });

  it('begin anew after a while', () => {
    writeInTurns(5);
    const elsewhere = allocateIn(manager, PAGES_PER_BLOCK);
    for (let page = 0; page <= TURN_LAPSE; page++) manager.fault(HOST, elsewhere + page, true, 2);
    touch(device, 5, true);
    expect(turns()).toBe(0);
    writeInTurns(2);
    expect(turns()).toBe(2);
  });

  it('have a launch use the block in host memory, where a policy says so', () => {
    const arrange = (): void => manager.arrange(1, device, [{ first, count: PAGES_PER_BLOCK }]);
    writeInTurns(4);
    arrange();
    expect(manager.state.nodes[device]?.backedPages).toBe(1);
    writeInTurns(6);
    arrange();
    expect(asked.at(-1)).toMatchObject({ processor: device, advised: false, remote: false });
    expect(manager.state.nodes[device]?.backedPages).toBe(0);
    touch(device, 5, true);
    expect(hasPage(manager, device, first + 5, 'writable')).toBe(true);
    expect(manager.state.nodes[HOST_NODE]?.backedPages).toBe(1);
    manager.checkInvariants();
  });
});
