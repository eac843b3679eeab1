/**
 * What a record of moves costs where every fault is one page: CPU time of the process for 20,000
 * faults with and without one, in turn. Wall time says little here: the faulting thread waits for
 * the manager anyhow.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpace } from '../src/index.js';
import { type Bench, compare, type Settings } from './harness.js';

const FAULTS = 20_000;
const PAGE = 4096;

async function run(settings: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-record-'));
  const space = await openSpace({ hostMemory: '256MiB' });
  const x = space.array(Uint8Array, PAGE * FAULTS, { name: 'x' });
  x.advise({ pattern: 'random' });
  const faults = async (): Promise<number> => {
    await x.discard();
    const { data } = x;
    const began = process.cpuUsage();
    for (let page = 0; page < FAULTS; page++) data[page * PAGE] = 1;
    const { user, system } = process.cpuUsage(began);
    return (user + system) / FAULTS;
  };
  try {
    await faults();
    await compare(settings, {
      name: 'record',
      unit: 'us',
      ours: async () => {
        await using _recording = await space.record(join(folder, 'run.rec'));
        return await faults();
      },
      better: 'lower',
      references: { 'no record': faults },
    });
  } finally {
    await space.close();
    rmSync(folder, { recursive: true });
  }
}

export const record: Bench = {
  name: 'record',
  what: 'CPU time of a fault with and without a record of moves',
  run,
};
