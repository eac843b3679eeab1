import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  Access,
  type DeviceDescription,
  HOST,
  HOST_NODE,
  type ProcessorId,
  Status,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';
import { ATTEMPTS } from './operation.js';

let manager: OpenManager;
let heard: string[];
/** Copies that have begun and not ended, oldest first. */
let begun: number[];
let device: { processor: ProcessorId; node: number };
let first: number;

beforeEach(() => start({}));

function start(about: Partial<DeviceDescription>): void {
  heard = [];
  begun = [];
  const commands = commandsThat({
    transfer: ({ token, page, count, node }) => {
      heard.push(`copy ${page - first}+${count} to ${node}`);
      begun.push(token);
      return Status.Pending;
    },
    deny: (processor, page, _write, _thread, reason) =>
      heard.push(`deny ${page - first} to ${processor}: ${reason}`),
    requestDone: (request, pages, failure) =>
      heard.push(`request ${request}: ${pages}, ${failure}`),
  });
  manager = managerOf(hostOf(16), commands, namedPolicies({ prefetch: 'none', readAhead: 'none' }));
  device = manager.addDevice(deviceOf(2, about));
  first = allocateIn(manager, 100, { provided: true });
}

/** The oldest copy ends so. Returns what is heard from then on. */
function end(status: Status): string[] {
  heard = [];
  const token = begun.shift();
  if (token === undefined) throw new Error('no copy is under way');
  manager.transferred(token, status);
  manager.checkInvariants();
  return heard;
}

const touch = (processor: ProcessorId, page: number): void =>
  manager.fault(processor, first + page, false, 1);
const bring = (request: number, page: number): void =>
  manager.acquire(request, device.processor, first + page, 1, Access.Read);

describe('a failure', () => {
  it("is told a thread, though a task of the block begins before the thread's turn", () => {
    touch(HOST, 3);
    bring(1, 7);
    expect(end(Status.Refused)).toEqual(['copy 7+1 to 1']);
    expect(end(Status.Done)).toEqual(['request 1: 1, null', 'deny 3 to 0: ACCESS_REFUSED']);
    expect(begun).toEqual([]);
  });

  it("counts for a thread that is tried again, whatever the block's tasks do meanwhile", () => {
    touch(HOST, 3);
    for (let time = 1; time < ATTEMPTS; time++) {
      bring(time, 7 + time);
      expect(end(Status.Failed)).toEqual([`copy ${7 + time}+1 to 1`]);
      expect(end(Status.Done)).toEqual([`request ${time}: 1, null`, 'copy 3+1 to 0']);
    }
    expect(end(Status.Failed)).toEqual(['deny 3 to 0: COPY_FAILED']);
  });

  it('is told a task that has to wait for its turn', () => {
    bring(1, 7);
    bring(2, 8);
    for (let time = 1; time < ATTEMPTS; time++)
      expect(end(Status.Failed)).toEqual(['copy 7+1 to 1']);
    expect(end(Status.Failed)).toEqual(['request 1: 0, COPY_FAILED', 'copy 8+1 to 1']);
    expect(end(Status.Done)).toEqual(['request 2: 1, null']);
  });

  it('is told before other threads of the processor have their turn', () => {
    touch(HOST, 3);
    touch(HOST, 5);
    expect(end(Status.Refused)).toEqual(['deny 3 to 0: ACCESS_REFUSED', 'copy 5+1 to 0']);
    expect(end(Status.Done)).toEqual([]);
    expect(hasPage(manager, HOST, first + 5)).toBe(true);
  });

  it("is no failure of another processor's thread that waits for the same page", () => {
    touch(device.processor, 3);
    touch(HOST, 3);
    expect(end(Status.Refused)).toContain('deny 3 to 1: ACCESS_REFUSED');
    while (begun.length > 0) expect(end(Status.Done)).not.toContain('deny 3 to 0: ACCESS_REFUSED');
    expect(hasPage(manager, HOST, first + 3)).toBe(true);
  });

  it('on the way over host memory is that of the device, not of a thread that waits there', () => {
    start({ addressable: false });
    touch(device.processor, 3);
    touch(HOST, 3);
    expect(heard).toEqual([`copy 3+1 to ${HOST_NODE}`]);
    expect(end(Status.Refused)).toContain('deny 3 to 1: ACCESS_REFUSED');
    while (begun.length > 0) end(Status.Done);
    expect(hasPage(manager, HOST, first + 3)).toBe(true);
  });

  it('on the way over host memory ends the wait for a granule, of which several pages failed', () => {
    start({ addressable: false, granularityBytes: 16 * 4096 });
    touch(device.processor, 20);
    expect(heard).toEqual([`copy 16+16 to ${HOST_NODE}`]);
    expect(end(Status.Refused)).toContain('deny 20 to 1: ACCESS_REFUSED');
  });

  it('by a death that nobody knows of yet keeps only who has failed waiting', () => {
    touch(device.processor, 3);
    end(Status.Done);
    manager.fault(device.processor, first + 3, true, 1);
    touch(HOST, 3);
    bring(1, 7);
    expect(end(Status.Lost)).toEqual(['copy 7+1 to 1']);
    expect(end(Status.Done)).toEqual(['request 1: 1, null']);
    heard = [];
    manager.processorLost(device.processor);
    expect(heard).toEqual(['copy 3+1 to 0']);
  });

  it('for want of memory has the node give some back, for the next attempt', () => {
    const other = allocateIn(manager, 10) - first;
    manager.fault(device.processor, first + other, true, 1);
    end(Status.Done);
    touch(device.processor, 3);
    expect(end(Status.NoMemory)).toEqual([`copy ${other}+1 to 0`, 'copy 3+1 to 1']);
  });

  it('of what stands in for a denied page has memory given back, too', () => {
    const other = allocateIn(manager, 10) - first;
    manager.fault(device.processor, first + other, true, 1);
    end(Status.Done);
    manager.protect(1, first + 3, 1, Access.None);
    heard = [];
    touch(device.processor, 3);
    expect(heard).toEqual(['deny 3 to 1: NO_ACCESS', 'copy 3+1 to 1']);
    expect(end(Status.NoMemory)).toContain(`copy ${other}+1 to 0`);
  });
});
