import { describe, expect, it } from 'vitest';
import {
  Access,
  HOST,
  HOST_NODE,
  PAGE_BYTES,
  Status,
  type Transfer,
} from '../core/basics/types.js';
import { commandsThat } from '../core/test-parts.js';
import type { Driver, NodeDriver, TransferOrder } from './driver.js';
import { Router } from './router.js';

const STORE = 1;
const STAGED = 0x7000;

/**
 * A host and a store whose reads end when the test says so. What happens is written down in order.
 */
function open(reserve: Status) {
  const log: string[] = [];
  const host = {
    kind: 'host',
    memory: 0x100000,
    reserve: (page: number, count: number) => {
      log.push(`reserve ${page}+${count}`);
      return reserve;
    },
    transferIn: ({ address, page, count, backed }: TransferOrder) => {
      log.push(
        `fill ${page}+${count} from ${address.toString(16)}${backed ? ', which has memory' : ''}`,
      );
      return Status.Done;
    },
  } as unknown as Driver;
  const store = {
    kind: 'store',
    memory: 0,
    transferOut: ({ frame, count }: TransferOrder) => {
      log.push(`read ${frame}+${count}`);
      return Status.Pending;
    },
  } as unknown as NodeDriver;
  const ended = (token: number, status: Status): void =>
    void log.push(`${token} ended with ${status}`);
  const staging = { take: () => STAGED, give: () => log.push('memory between is free') };
  const router = new Router(commandsThat(), {} as never, ended, PAGE_BYTES, staging);
  router.attach(HOST, HOST_NODE, host);
  router.attachNode(STORE, store);
  const order: Transfer = {
    token: 3,
    source: STORE,
    sourceFrame: 40,
    node: HOST_NODE,
    processor: HOST,
    page: 7,
    count: 1,
    frame: 7,
    access: Access.Write,
    backed: false,
    whole: false,
    urgent: true,
    reason: null,
  };
  return { router, order, log };
}

describe('a page of a store that a thread waits for', () => {
  it('has its memory while it is read', () => {
    const { router, order, log } = open(Status.Done);
    expect(router.transfer(order)).toBe(Status.Pending);
    expect(log).toEqual(['read 40+1', 'reserve 7+1']);
    router.completed(3, Status.Done);
    expect(log.slice(2)).toEqual([
      'fill 7+1 from 7000, which has memory',
      'memory between is free',
      `3 ended with ${Status.Done}`,
    ]);
  });

  it('is there before the core hears of it where that is put off', () => {
    const { router, order, log } = open(Status.Done);
    router.transfer(order);
    router.putOff();
    router.completed(3, Status.Done);
    expect(log.at(-1)).toBe('memory between is free');
    router.tellRest();
    expect(log.at(-1)).toBe(`3 ended with ${Status.Done}`);
    router.tellRest();
    expect(log).toHaveLength(5);
  });

  it('has the core hear at once of what could not be read', () => {
    const { router, order, log } = open(Status.Done);
    router.transfer(order);
    router.putOff();
    router.completed(3, Status.Failed);
    expect(log.at(-1)).toBe(`3 ended with ${Status.Failed}`);
  });

  it('gets it afterwards where there was none just then', () => {
    const { router, order, log } = open(Status.NoMemory);
    router.transfer(order);
    router.completed(3, Status.Done);
    expect(log).toContain('fill 7+1 from 7000');
  });

  it('gets it afterwards where no thread waits', () => {
    const { router, order, log } = open(Status.Done);
    router.transfer({ ...order, urgent: false });
    router.step();
    router.completed(3, Status.Done);
    expect(log).toEqual([
      'read 40+1',
      'fill 7+1 from 7000',
      'memory between is free',
      `3 ended with ${Status.Done}`,
    ]);
  });
});
