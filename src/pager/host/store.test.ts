import { constants } from 'node:os';
import { expect, test } from 'vitest';
import type { NodeDriver } from '../../drivers/driver.js';
import { StorageDriver, type StorageEvents } from '../../drivers/storage/storage.js';
import { orderIn } from '../../drivers/test-orders.js';
import type { ManagerContext } from '../core/context.js';
import { type Chance, Store, type StorePlace } from './store.js';

const { EFBIG } = constants.errno;

/**
 * A store whose writes end as the test says, at a time that it says, with such a chance of going
 * better.
 */
function open(chance: Chance) {
  const clock = { ms: 1000 };
  const disk = { result: -EFBIG };
  const nodes: NodeDriver[] = [];
  const manager = { addNode: () => 1, setHome: () => {}, nodeFull: () => {} };
  const router = {
    attachNode: (_id: number, driver: NodeDriver) => nodes.push(driver),
    completed: () => {},
  };
  const file = {
    mayRead: () => true,
    mayWrite: () => true,
    write: (_address: number, length: number, _offset: number, done: (result: number) => void) =>
      done(disk.result === 0 ? length : disk.result),
  };
  const place = {
    name: 'disk',
    bytes: 2 ** 20,
    file,
    drive: (events: StorageEvents) => new StorageDriver('disk', file as never, 0, null, events),
    chance: () => chance,
    full: () => 'it is full',
  };
  const context = { manager, router, now: () => clock.ms, warn: () => {} };
  const store = new Store(place as unknown as StorePlace, context as unknown as ManagerContext, 0);
  const write = (): void => {
    nodes[0].transferIn(orderIn(1, 0, 0, 1, 0, 0, false));
    store.look();
  };
  const lookLater = (): void => {
    clock.ms += 1000;
    store.look();
  };
  return { store, disk, write, lookLater };
}

test('a store that failed is full until it has been written, also where it is to be tried again', () => {
  const { store, disk, write, lookLater } = open('unknown');
  expect(store.figures.full).toBe(false);
  write();
  expect(store.figures.full).toBe(true);
  lookLater();
  expect([store.fails, store.figures.full]).toEqual([false, true]);
  disk.result = 0;
  write();
  expect(store.figures).toMatchObject({ full: false, heldBytes: 4096 });
});

test('it is full no more where what was in the way is gone', () => {
  const { store, write, lookLater } = open('good');
  write();
  expect(store.figures.full).toBe(true);
  lookLater();
  expect(store.figures.full).toBe(false);
});

test('it is not tried again where there is no reason for that', () => {
  const { store, write, lookLater } = open('none');
  write();
  lookLater();
  expect(store.fails).toBe(true);
});
