/** Threads that attach to the space. */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import type { NumericArray } from '../../src/index.js';
import { KERNELS, runHere } from './kernels.js';
import { Player } from './player.js';
import type { Visit } from './visitor.js';

/** A thread attaches, works on an array and leaves. */
export async function visit(player: Player): Promise<void> {
  const tracked = player.pickArray(
    (each) =>
      each.refusals(each.whole, 'write').size === 0 &&
      each.kind !== 'provided' &&
      each.gone.every((gone) => gone === null),
  );
  if (tracked === null || player.visits.size >= 2 || player.staying.length >= 2) return;
  const { array, plain } = tracked;
  const { begin, end } = player.part(tracked.length);
  const value = player.random.below(50);
  const leave = player.random.pick(['end', 'close', 'exit', 'wait'] as const);
  const device = player.random.chance(0.4) ? player.pickDevice() : null;
  // Its memory is too small for some arrays, and the thread would have to tell.
  const onDevice = device?.specification.kind === 'process' ? device : null;
  const name = onDevice?.name ?? null;
  player.log(`a thread for ${tracked.name} ${begin} to ${end}, device ${name}, leaves by ${leave}`);
  const visit: Visit = {
    handle: array.handle,
    expected: plain.slice() as NumericArray,
    begin,
    end,
    value,
    device: name,
    leave,
  };
  tracked.wrote = true;
  tracked.cameHome({ begin, end });
  if (onDevice !== null) {
    tracked.usedBy |= onDevice.bit;
    tracked.holdOnly(tracked.whole, onDevice.bit);
  }
  const worker = newThread(visit);
  const work = new Promise<void>((resolve, reject) => {
    worker.once('error', reject);
    const early = (code: number): void =>
      reject(new Error(`the thread ended with ${code} before its work was done`));
    worker.once('exit', early);
    worker.once('message', () => {
      worker.off('exit', early);
      const item = player.item(tracked, value);
      plain.fill(item as never, begin, end);
      const range = { begin: 0, end: plain.length, size: plain.length };
      if (name !== null) runHere(KERNELS[array.type].add, { x: plain, by: item }, range);
      if (leave === 'wait') {
        player.staying.push(worker);
        resolve();
      } else worker.once('exit', () => resolve());
    });
  });
  const visiting = work.finally(() => player.visits.delete(visiting));
  player.visits.add(visiting);
  player.occupy([tracked], visiting);
  if (player.random.chance(0.3)) await visiting;
}

/** A thread comes and goes. */
export async function meet(player: Player): Promise<void> {
  const array = player.space.array(Int8Array, 1);
  const visit: Visit = {
    handle: array.handle,
    expected: new Int8Array(1),
    begin: 0,
    end: 1,
    value: 1,
    device: null,
    leave: 'end',
  };
  const worker = newThread(visit);
  await new Promise((resolve, reject) => worker.once('error', reject).once('exit', resolve));
  assert.equal(array.data[0], 1);
  array.free();
}

function newThread(visit: Visit): Worker {
  Player.threads++;
  return new Worker(new URL('./visitor.js', import.meta.url), { workerData: visit });
}
