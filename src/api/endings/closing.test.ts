import { EventEmitter } from 'node:events';
import { fstatSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ClosedSpace } from '../../pager/protocol/closed-space.js';
import { Control } from '../../pager/protocol/control.js';
import type { Requests } from '../../pager/protocol/requests.js';
import type { Client } from '../line/client.js';
import type { ManagerThreads } from '../line/manager-threads.js';
import type { Views } from '../line/views.js';
import { closeSpace } from './closing.js';

/** Threads that end when that is said. */
class FakeThreads extends EventEmitter {
  ref(): void {}
  unref(): void {}
}

describe('closing a space', () => {
  it('closes the descriptor of its faults where the manager has ended before its answer is heard', async () => {
    const faults = openSync('/dev/null', 'r');
    const control = new SharedArrayBuffer(256);
    Atomics.store(new Int32Array(control), Control.WakeFdClosed, 1);
    const answer: ClosedSpace = { base: 0, bytes: 4096, faults, control, arrays: [] };
    const threads = new FakeThreads();
    let answered: (answer: Requests['close']['out']) => void = () => undefined;
    const client = {
      isClosed: false,
      request: () => new Promise((resolve) => (answered = resolve)),
      close: () => undefined,
      unseenFailures: { warn: () => undefined },
    } as unknown as Client;
    const none = () => undefined;
    const views = {
      freed: none,
      tryUnmap: none,
      unmapAfterThreads: none,
      isUnmapped: true,
    } as unknown as Views;
    let ended = 0;
    const closing = closeSpace(
      {
        client,
        views,
        handle: { control, wakeFd: -1, bytes: 4096 } as never,
        threads: threads as unknown as ManagerThreads,
        lenders: [],
        onClosed: () => ended++,
      },
      null,
    );
    threads.emit('exit');
    setImmediate(answered, { closed: answer, lost: null });
    await closing;
    expect(() => fstatSync(faults)).toThrow('EBADF');
    expect(ended).toBe(1);
  });
});
