import { expect, test } from 'vitest';
import type { MessageSocket } from '../../../linux/sockets/socket.js';
import type { Waits } from '../gpu/gpu.js';
import { runWaitingLoop } from './waiting-loop.js';

const packet = (number: number): { bytes: Uint8Array } => ({ bytes: Uint8Array.of(number) });

/**
 * Runs the loop with these packets, one a look at the socket, and a GPU that is busy from the first
 * one on; tells what happened, in order.
 */
function played(packets: readonly (number | null)[]): Promise<string[]> {
  const happened: string[] = [];
  const left = [...packets];
  let busy = false;
  const socket = {
    receive: () => {
      if (left.length === 0) return 'closed';
      const next = left.shift() ?? null;
      return next === null ? null : packet(next);
    },
  } as unknown as MessageSocket;
  const gpu = {
    get busy() {
      return busy;
    },
    wait: (nanoseconds: number) => happened.push(nanoseconds === 0 ? 'look' : 'wait'),
  } as unknown as Waits;
  return new Promise((resolve) => {
    runWaitingLoop(socket, gpu, {
      isBusy: false,
      events: 0,
      take: ([number]) => {
        happened.push(`taken ${number}`);
        busy = true;
        void Promise.resolve().then(() => happened.push(`begun ${number}`));
      },
      closed: () => resolve(happened),
    });
  });
}

test('what comes while the GPU works is begun before the loop waits for the GPU', async () => {
  expect(await played([1, null, 2, null, null])).toEqual([
    'taken 1',
    'look',
    'begun 1',
    'taken 2',
    'look',
    'begun 2',
    'wait',
  ]);
});

test('the loop waits while the GPU works and nothing comes', async () => {
  expect(await played([1, null, null, null])).toEqual([
    'taken 1',
    'look',
    'begun 1',
    'wait',
    'wait',
  ]);
});
