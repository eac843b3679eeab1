/** What a program does next, by chance, and how it ends. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import type { Random } from '../simulation/random.js';
import {
  allocate,
  allocateFromFile,
  allocateProvided,
  clone,
  free,
  freePart,
  release,
  resize,
} from './arrays.js';
import {
  addDevice,
  detach,
  failingLaunch,
  kill,
  launchOnPlainArrays,
  launchOnRegisteredMemory,
  restart,
  workInVain,
} from './devices.js';
import { checkFile, cut, flush, reload, saveAsNumPy } from './files.js';
import { callGuest, endGuest } from './guests.js';
import {
  allocateOfSeveral,
  compareElsewhere,
  fence,
  readElsewhere,
  refuseOfSeveral,
  writeElsewhere,
} from './others.js';
import { advise, discard, pin, protect, unpin, unpinAll, watch } from './pages.js';
import { MAX_ARRAYS, type Player } from './player.js';
import { checkReport, refused, report } from './reports.js';
import { playStreams } from './streams.js';
import { visit } from './threads.js';
import { byAddress, read, verifyAll, write } from './touches.js';
import { hold, readFrom, streamOut, writeTo } from './transfers.js';

const MAX_DEVICES = 5;

/** Does one thing. */
export async function step(player: Player, random: Random = player.random): Promise<void> {
  if (player.failure !== null) throw player.failure;
  player.random = random;
  const changes = player.options.lasting !== true;
  const mortal = changes && player.devices.some(({ alive }) => alive);
  const restarts =
    !changes || player.devices.length === 0
      ? 0
      : player.devices.every(({ alive }) => alive)
        ? 0.2
        : 2;
  const many = player.arrays.length;
  const { disk } = player;
  const several = player.arrays.some(({ kind }) => kind === 'several');
  const kinds: readonly [number, () => Promise<void>][] = [
    [many < MAX_ARRAYS ? 10 : 0, () => allocate(player)],
    [many < MAX_ARRAYS ? 3 : 0, () => allocateFromFile(player)],
    [many < MAX_ARRAYS ? 1.5 : 0, () => allocateProvided(player)],
    [many < MAX_ARRAYS && player.server !== null ? 2.5 : 0, () => allocateOfSeveral(player)],
    [many < MAX_ARRAYS ? 5 : 0, () => clone(player)],
    [12, () => write(player)],
    [12, () => read(player)],
    [several ? 5 : 0, () => writeElsewhere(player)],
    [several ? 5 : 0, () => readElsewhere(player)],
    [several ? 1 : 0, () => refuseOfSeveral(player)],
    [several ? 1 : 0, () => fence(player)],
    [26, () => playStreams(player)],
    [2, () => launchOnPlainArrays(player)],
    [1, () => launchOnRegisteredMemory(player)],
    [2, () => failingLaunch(player)],
    [5, () => readFrom(player)],
    [5, () => writeTo(player)],
    [3, () => protect(player)],
    [3, () => discard(player)],
    [3, () => resize(player)],
    [2, () => pin(player)],
    [player.pins.length > 0 ? 3 : 0, () => unpin(player)],
    [3, () => advise(player)],
    [3, () => flush(player)],
    [2, () => reload(player)],
    [1, () => watch(player)],
    [many > 4 ? 6 : 1, () => free(player)],
    [1, () => freePart(player)],
    [1.5, () => visit(player)],
    [6, () => callGuest(player)],
    [player.guests.length > 0 ? 2 : 0, () => endGuest(player)],
    [1, () => refused(player)],
    [3, () => report(player)],
    [2, () => streamOut(player)],
    [2, () => hold(player)],
    [1.5, () => byAddress(player)],
    [1.5, () => saveAsNumPy(player)],
    [1.5, () => cut(player)],
    [restarts, () => restart(player)],
    [changes && player.devices.length < MAX_DEVICES ? 0.4 : 0, () => addDevice(player)],
    [mortal ? 0.7 : 0, () => detach(player)],
    [mortal ? 1.2 : 0, () => kill(player)],
    [disk === null ? 0 : 12, async () => disk?.turn(player)],
    [disk === null ? 0 : 12, async () => disk?.press(player)],
  ];
  let weight = (random.next() / 2 ** 32) * kinds.reduce((sum, [each]) => sum + each, 0);
  for (const [each, run] of kinds) {
    weight -= each;
    if (weight < 0) {
      await run();
      return;
    }
  }
}

/** Frees every array and waits for whatever is under way: what is left then is not in use. */
export async function clear(player: Player): Promise<void> {
  await player.rest();
  await unpinAll(player);
  for (const { notifier } of player.notifiers.splice(0)) notifier.close();
  for (const tracked of [...player.arrays]) {
    verifyAll(player, tracked);
    release(player, tracked);
  }
  await player.other?.close();
  player.other = null;
  for (const worker of player.staying.splice(0)) await worker.terminate();
  for (const guest of player.guests.splice(0)) await guest.kill();
  player.space.checkInvariants();
}

export async function close(player: Player): Promise<void> {
  await player.disk?.close(player);
  await player.rest();
  for (const tracked of player.arrays) {
    verifyAll(player, tracked);
    compareElsewhere(player, tracked);
    checkReport(player, tracked);
  }
  player.space.checkInvariants();
  const { random } = player;
  // Some threads end before the space does, some after it, some of their own accord and some by
  // force.
  const after: Worker[] = [];
  for (const worker of player.staying.splice(0)) {
    if (random.chance(0.5)) after.push(worker);
    else await worker.terminate();
  }
  // So do processes; one that stands still is there in any case.
  for (const guest of [...player.guests]) {
    if (random.chance(0.5)) continue;
    player.guests.splice(player.guests.indexOf(guest), 1);
    await guest.kill();
  }
  player.log(`${player.name}: close(), with ${after.length} threads attached`);
  const shared = player.arrays.filter(
    ({ kind, gone }) => kind === 'shared' && gone.every((each) => each === null),
  );
  const lostShared = player.arrays.some(
    ({ kind, gone }) => kind === 'shared' && gone.includes('lost'),
  );
  const working = lostShared || random.chance(0.7) ? [] : workInVain(player);
  // What other machines were to have, and never will.
  const lostSeveral = player.arrays.some(
    ({ kind, gone }) => kind === 'several' && gone.includes('lost'),
  );
  const may = [...(lostShared ? ['FLUSH_FAILED'] : []), ...(lostSeveral ? ['DATA_LOST'] : [])];
  await player.judge(player.space.close(), [], may, 'close()');
  for (const code of await Promise.all(working))
    assert.ok(
      ['', 'CANCELLED', 'SPACE_CLOSED', 'DEVICE_MEMORY', 'FILE_CHANGED'].includes(code),
      code,
    );
  if (!player.space.isClosed) {
    for (const tracked of player.arrays)
      if (tracked.gone.includes('lost')) await tracked.array.reload({ discard: true });
    await player.space.close();
  } else for (const tracked of shared) checkFile(tracked, tracked.whole);
  for (const worker of after) {
    if (random.chance(0.5)) await worker.terminate();
    else {
      const gone = new Promise((resolve) => worker.once('exit', resolve));
      worker.postMessage('end');
      await gone;
    }
  }
  for (const guest of player.guests.splice(0)) await guest.kill();
  await player.other?.close();
  rmSync(player.folder, { recursive: true });
}
