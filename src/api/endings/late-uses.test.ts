import { EventEmitter } from 'node:events';
import { fstatSync } from 'node:fs';
import { expect, test } from 'vitest';
import { closeEventfd, createEventfd, drainEventfd } from '../../linux/threads/eventfd.js';
import type { ClosedSpace } from '../../pager/protocol/closed-space.js';
import { CONTROL_WORDS, Control } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { ManagerThreads } from '../line/manager-threads.js';
import { Takeover } from './late-uses.js';

/** A space that is closed while views of it are left; its descriptors are counters. */
class Space {
  readonly threads = new EventEmitter() as ManagerThreads;
  readonly control = new SharedArrayBuffer(CONTROL_WORDS * 4);
  readonly wakeFd = createEventfd();
  readonly own: ClosedSpace = {
    base: 0,
    bytes: 0,
    faults: createEventfd(),
    control: this.control,
    arrays: [],
  };

  close(takeover = new Takeover()): this {
    takeover.complete(
      this.threads,
      { control: this.control, wakeFd: this.wakeFd } as SpaceHandle,
      this.own,
    );
    return this;
  }

  get isStopped(): boolean {
    return Atomics.load(new Int32Array(this.control), Control.Stop) === 1;
  }

  /** Its last view has gone. */
  unmap(): this {
    Atomics.store(new Int32Array(this.control), Control.Views, -1);
    return this;
  }

  /** Its manager and the sentinel end. */
  exit(): void {
    this.threads.emit('exit');
    closeEventfd(this.wakeFd);
  }
}

function isOpen({ own }: Space): boolean {
  try {
    return fstatSync(own.faults).ino >= 0;
  } catch {
    return false;
  }
}

test('the thread of the last space answers for those before it, and their descriptors stay open until it ends', () => {
  const first = new Space().close();
  const second = new Space().close();
  expect([first.isStopped, second.isStopped]).toEqual([true, false]);
  first.exit();
  expect([isOpen(first), isOpen(second)]).toEqual([true, true]);
  first.unmap();
  second.unmap().exit();
  expect([isOpen(first), isOpen(second)]).toEqual([false, false]);
});

test('a descriptor is closed once, also when its last view goes while another space takes it over', () => {
  const first = new Space().close();
  const second = new Space();
  const takeover = new Takeover();
  first.unmap().exit();
  // The second one's manager has been handed its number.
  expect(isOpen(first)).toBe(true);
  second.close(takeover);
  second.unmap().exit();
  expect(isOpen(first)).toBe(false);
  // The file that has the number now keeps it.
  const third = new Space().close();
  third.unmap();
  new Takeover().cancel();
  expect(isOpen(third)).toBe(true);
  third.exit();
});

test('of two spaces that are closed at once one takes over what was there, and neither stops the other', () => {
  const first = new Space().close();
  const [second, third] = [new Space(), new Space()];
  const takeovers = [new Takeover(), new Takeover()];
  expect(takeovers.map(({ spaces }) => spaces)).toEqual([[first.own], []]);
  third.close(takeovers[1]);
  expect([first.isStopped, third.isStopped]).toEqual([false, false]);
  second.close(takeovers[0]);
  expect([first.isStopped, second.isStopped, third.isStopped]).toEqual([true, false, false]);
  const last = new Space().close();
  expect([second.isStopped, third.isStopped]).toEqual([true, true]);
  for (const each of [first, second, third, last]) each.unmap().exit();
});

test('a space that stays open after all leaves the others to the handler that answered before', () => {
  const first = new Space().close();
  new Takeover().cancel();
  expect([first.isStopped, isOpen(first)]).toEqual([false, true]);
  expect(drainEventfd(first.wakeFd)).toBe(0);
  const second = new Space().close();
  expect(first.isStopped).toBe(true);
  for (const each of [first, second]) each.unmap().exit();
  expect(isOpen(first)).toBe(false);
});
