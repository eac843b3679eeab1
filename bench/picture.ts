/**
 * What the live picture costs a program that streams: passes over an array of twice a device's
 * memory, beside untouched arrays of 100,000 blocks, with a client that asks for 20 frames a second
 * and without any server, in turn.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { f32, kernel, openSpace } from '../src/index.js';
import { type Bench, compare, type Settings } from './harness.js';

const BLOCK = 2 ** 21;
const BLOCKS = 100_000;
/** Arrays that are there, and are drawn. */
const ARRAYS = 50;
const PASSES = 15;
/** Pictures that the client takes before the passes begin. */
const WARM = 5;

const scale = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= 1.0001;
});

/** A browser is another process, and so is this. */
const CLIENT = `
  let version = '';
  const url = process.argv[1];
  for (;;) {
    const began = performance.now();
    const answer = await fetch(url + 'picture?since=' + encodeURIComponent(version));
    version = JSON.parse(await answer.text()).version;
    process.stdout.write('.');
    await new Promise((done) => setTimeout(done, Math.max(0, 50 - (performance.now() - began))));
  }`;

async function run(settings: Settings): Promise<void> {
  const space = await openSpace({
    devices: [{ kind: 'process', memory: '64MiB' }],
    addressSpace: '1TiB',
  });
  // Files that are never read need no memory.
  const folder = mkdtempSync(join(tmpdir(), 'onemem-picture-'));
  const file = join(folder, 'sparse');
  writeFileSync(file, '');
  truncateSync(file, (BLOCKS / ARRAYS) * BLOCK);
  for (let at = 0; at < ARRAYS; at++) space.fileArray(Uint8Array, file, { name: `large${at}` });
  const x = space.array(Float32Array, 32 * 2 ** 20, { name: 'x' });
  x.data.fill(1);
  const [device] = space.devices;
  const passes = async (): Promise<number> => {
    const began = performance.now();
    for (let pass = 0; pass < PASSES; pass++) await device.run(scale, { x }, { size: x.length });
    return performance.now() - began;
  };
  try {
    await passes();
    await compare(settings, {
      name: 'picture',
      unit: 'ms',
      ours: async () => {
        await using server = await space.serve();
        const args = ['--input-type=module', '-e', CLIENT, server.url];
        const client = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        let taken = 0;
        await new Promise<void>((warm) => {
          client.stdout.on('data', (dots: Buffer) => {
            taken += dots.length;
            if (taken >= WARM) warm();
          });
        });
        const took = await passes();
        const ended = once(client, 'exit');
        client.kill();
        await ended;
        return took;
      },
      better: 'lower',
      references: { 'no picture': passes },
    });
  } finally {
    await space.close();
    rmSync(folder, { recursive: true });
  }
}

export const picture: Bench = {
  name: 'picture',
  what: 'a device streams through twice its memory, with and without a live picture',
  run,
};
