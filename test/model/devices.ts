/** What becomes of devices, and launches that say little about managed arrays. */
import assert from 'node:assert/strict';
import type { NumericArray } from '../../src/index.js';
import { wasmMemory } from '../harness/wasm.js';
import { ELEMENT_TYPES, KERNELS, runHere } from './kernels.js';
import { codeOf, type Player, someDevice, type TrackedDevice, trackDevice } from './player.js';
import { bytesOf, plainArray, plainOver } from './tracked.js';

/** How long a device that was killed may take to be known as dead. */
const DEATH_MS = 20_000;

export async function launchOnPlainArrays(player: Player): Promise<void> {
  const device = player.pickDevice();
  if (device === null) return;
  const type = player.random.pick(ELEMENT_TYPES);
  const plain = player.randomize(plainArray(type, player.random.between(1, 50_000)));
  const expected = plain.slice();
  const by = typeof plain[0] === 'bigint' ? 3n : 3;
  const range = { begin: 0, end: plain.length, size: plain.length };
  runHere(KERNELS[type].add, { x: expected as NumericArray, by }, range);
  player.log(`${device.name}.run(add, { x: a plain ${type} array of ${plain.length} })`);
  await device.device.run(KERNELS[type].add, { x: plain, by } as never, range);
  assert.ok(
    Buffer.from(bytesOf(plain)).equals(bytesOf(expected as NumericArray)),
    'a plain array came back wrong',
  );
}

/** A launch on memory that is registered for it, in place or staged. */
export async function launchOnRegisteredMemory(player: Player): Promise<void> {
  const device = player.pickDevice();
  if (device === null) return;
  const { random } = player;
  const type = random.pick(ELEMENT_TYPES);
  const length = random.between(1, 30_000);
  const memory = random.chance(0.5)
    ? wasmMemory({ initial: 5 })
    : new SharedArrayBuffer(5 * 65_536);
  const buffer = memory instanceof SharedArrayBuffer ? memory : memory.buffer;
  const x = player.randomize(plainOver(type, buffer, 64 * random.between(0, 100), length));
  const expected = x.slice();
  const by = typeof x[0] === 'bigint' ? 3n : 3;
  const range = { begin: 0, end: length, size: length };
  runHere(KERNELS[type].add, { x: expected as NumericArray, by }, range);
  using registration = player.space.register(memory, { lock: random.chance(0.5) });
  player.log(`${device.name}.run(add, { x: ${type}, ${length} of memory ${registration.mode} })`);
  await device.device.run(KERNELS[type].add, { x, by } as never, range);
  assert.ok(
    Buffer.from(bytesOf(x)).equals(bytesOf(expected as NumericArray)),
    'registered memory came back wrong',
  );
}

export async function failingLaunch(player: Player): Promise<void> {
  const device = player.pickDevice();
  const tracked = player.pickArray((each) => each.refusals(each.whole, 'write').size === 0);
  if (device === null || tracked === null) return;
  player.log(`${device.name}: a launch for ${tracked.name} whose kernel throws, and one after it`);
  using stream = device.device.stream();
  const { fail, add } = KERNELS[tracked.array.type];
  const options = { size: tracked.length };
  tracked.holdOnly(tracked.whole, device.bit);
  tracked.usedBy |= device.bit;
  tracked.wrote = true;
  stream.launch(fail, { x: tracked.array } as never, options);
  const after = stream.launch(
    add,
    { x: tracked.array, by: player.item(tracked, 1) } as never,
    options,
  );
  await player.judge(
    stream.synchronize(),
    ['KERNEL_ERROR'],
    ['DEVICE_MEMORY'],
    'a launch whose kernel throws',
  );
  assert.equal(after.result, 'cancelled');
}

export async function detach(player: Player): Promise<void> {
  const device = player.pickDevice();
  if (device === null) return;
  await Promise.all(player.visits);
  player.log(`await ${device.name}.detach()`);
  device.alive = false;
  await device.device.detach();
  // Launches that waited are lost with it, and nothing else.
  await player.rest();
  for (const { onlyOn } of player.arrays)
    for (let page = 0; page < onlyOn.length; page++) onlyOn[page] &= ~device.bit;
}

export async function kill(player: Player): Promise<void> {
  const device = player.pickDevice();
  if (device === null) return;
  const { lossy } = device.specification;
  // A thread that works on the device would have to tell of its loss, and one that reads an array
  // would end the process.
  await Promise.all(player.visits);
  const signal = device.device.pid !== null && player.random.chance(0.5);
  player.log(
    `${signal ? 'SIGKILL' : 'kill()'} for ${device.name}, ${lossy ? 'lossy' : 'whose memory survives'}`,
  );
  device.alive = false;
  if (lossy) player.lossyDeaths |= device.bit;
  player.death = dies(device);
  if (signal) process.kill(device.device.pid as number, 'SIGKILL');
  else device.device.kill();
  await player.death;
  // Launches and transfers that were under way have to end; only then is it known what was lost.
  await player.rest();
}

/**
 * Starts a device again: mostly one that has died or was detached, at times one that lives, which
 * that ends.
 */
export async function restart(player: Player): Promise<void> {
  const dead = player.devices.filter(({ alive }) => !alive);
  const device = player.random.pick(
    dead.length > 0 && player.random.chance(0.8) ? dead : player.devices,
  );
  await Promise.all(player.visits);
  player.log(`await ${device.name}.restart(), which ${device.alive ? 'lives' : 'does not live'}`);
  if (device.alive && device.specification.lossy) {
    player.lossyDeaths |= device.bit;
    player.restarted |= device.bit;
  }
  device.alive = false;
  player.death = device.device.restart();
  await player.death;
  await player.rest();
  device.alive = true;
  device.life++;
}

export async function addDevice(player: Player): Promise<void> {
  const { devices, random } = player;
  const specification = someDevice(random, `d${devices.length}`);
  player.log(`await space.addDevice(${JSON.stringify(specification)})`);
  const device = await player.space.addDevice(specification);
  devices.push(trackDevice(device, specification, devices.length));
}

async function dies({ device, name }: TrackedDevice): Promise<void> {
  const end = Date.now() + DEATH_MS;
  do await new Promise((resolve) => setTimeout(resolve, 1));
  while (device.stats().alive && Date.now() < end);
  assert.ok(Date.now() < end, `${name} was killed ${DEATH_MS} ms ago and lives`);
}

/**
 * Gives a device something to do that the close of the space will find; returns the codes by which
 * it ends.
 */
export function workInVain(player: Player): Promise<string>[] {
  const device = player.pickDevice();
  const tracked = player.pickArray(
    (each) => each.kind !== 'shared' && each.refusals(each.whole, 'write').size === 0,
  );
  if (device === null || tracked === null) return [];
  const stream = device.device.stream();
  const { add } = KERNELS[tracked.array.type];
  const events = [1, 2, 3].map((by) =>
    stream.launch(add, { x: tracked.array, by: player.item(tracked, by) } as never, {
      size: tracked.length,
    }),
  );
  return events.map((event) => event.synchronize().then(() => '', codeOf));
}
