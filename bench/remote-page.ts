/**
 * Pages that are on a Valkey server of this machine, brought to host memory, 2 MiB at a time;
 * beside the server's own benchmark client.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressSpace, type ManagedArray, openSpace } from '../src/index.js';
import { type Programs, ValkeyServer, valkeyPrograms } from '../test/harness/valkey-server.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const BLOCK_BYTES = 2 ** 21;
const BYTES = 2 ** 28;
const WORDS = BYTES / 4;
const BLOCK_WORDS = BLOCK_BYTES / 4;
const BLOCKS = BYTES / BLOCK_BYTES;
const PAGE_WORDS = 1024;
/**
 * The first thousand blocks of a program take two to three times the processor time of those after
 * three thousand.
 */
const COMPILED_AFTER = 24;
/** The same number of connections as the space has for reading. */
const CLIENTS = 2;

interface Client {
  readonly rate: number;
  readonly p99: number;
}

/** GETs of 2 MiB by the benchmark client that comes with the server. */
function benchmarkClient(
  { benchmark, libraries }: Programs,
  server: ValkeyServer,
  clients: number,
): Client {
  const args = [
    '-s',
    server.file('socket'),
    '-t',
    'set,get',
    '-d',
    String(BLOCK_BYTES),
    '-n',
    String(BLOCKS),
  ];
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  const { stdout } = spawnSync(benchmark as string, [...args, '-c', String(clients), '--csv'], {
    encoding: 'utf8',
    env,
  });
  const [, perSecond, , , , , p99] = (/^"GET".*$/m.exec(stdout)?.[0] ?? '')
    .replaceAll('"', '')
    .split(',')
    .map(Number);
  verify(perSecond > 0, `what the benchmark client says: ${stdout}`);
  return { rate: (perSecond * BLOCK_BYTES) / 1e9, p99 };
}

/** Reads a word of each page, from the first to the last. */
function scan(data: Int32Array): number {
  const started = performance.now();
  let sum = 0;
  for (let at = 0; at < WORDS; at += PAGE_WORDS) sum += data[at] - at;
  const elapsed = performance.now() - started;
  verify(sum === 0, 'the sum of a scan');
  return BYTES / 1e6 / elapsed;
}

/** Microseconds of a processor that this program and the server have taken so far. */
function processorTime(server: ValkeyServer): number {
  const { user, system } = process.cpuUsage();
  const [nanoseconds] = readFileSync(`/proc/${server.pid}/schedstat`, 'latin1').split(' ');
  return user + system + Number(nanoseconds) / 1000;
}

/**
 * The same for each block that comes while all are read in order: it depends less than the rate on
 * what else runs.
 */
function processorTimeOfBlock(space: AddressSpace, data: Int32Array, server: ValkeyServer): number {
  const read = (): number => (space.stats().behind?.bytesRead ?? 0) / BLOCK_BYTES;
  const [before, started] = [read(), processorTime(server)];
  scan(data);
  return (processorTime(server) - started) / (read() - before);
}

/**
 * Brings blocks one after the other, in an order that no read-ahead foresees. Returns the time of
 * each.
 */
async function bringAll(space: AddressSpace, x: ManagedArray<Int32Array>): Promise<number[]> {
  const times: number[] = [];
  const stream = space.devices[0].stream();
  for (let n = 0; n < BLOCKS; n++) {
    const block = (n * 37) % BLOCKS;
    const started = performance.now();
    stream.prefetch(x.range(block * BLOCK_WORDS, (block + 1) * BLOCK_WORDS), 'host');
    await stream.synchronize();
    times.push(performance.now() - started);
  }
  return times;
}

function p99(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1];
}

async function run(settings: Settings): Promise<void> {
  const programs = valkeyPrograms();
  if (typeof programs === 'string' || programs.benchmark === null) {
    const skipped = typeof programs === 'string' ? programs : 'there is no benchmark client';
    settings.report({
      name: 'remote-page',
      ours: 0,
      reference: null,
      ratio: null,
      unit: '',
      runs: 0,
      spread: 0,
      skipped,
    });
    return;
  }
  await using server = await ValkeyServer.start();
  await using space = await openSpace({
    hostMemory: '64MiB',
    storage: false,
    behind: { kind: 'valkey', url: server.url, bytes: '512MiB' },
    devices: [{ kind: 'simulated', memory: '4MiB' }],
  });
  const x = space.array(Int32Array, WORDS);
  for (let i = 0; i < WORDS; i++) x.data[i] = i;
  // What has been written last goes there, too.
  scan(x.data);
  await compare(settings, {
    name: 'remote-page/scan',
    unit: 'GB/s',
    better: 'higher',
    ours: () => scan(x.data),
    references: { 'benchmark client': () => benchmarkClient(programs, server, CLIENTS).rate },
    extra: { bytes: BYTES, clients: CLIENTS },
    compiledAfter: COMPILED_AFTER,
  });
  await compare(settings, {
    name: 'remote-page/processor',
    unit: 'us',
    better: 'lower',
    ours: () => processorTimeOfBlock(space, x.data, server),
    extra: { bytes: BLOCK_BYTES },
    compiledAfter: COMPILED_AFTER,
  });
  await compare(settings, {
    name: 'remote-page/block-p99',
    unit: 'ms',
    better: 'lower',
    ours: async () => p99(await bringAll(space, x)),
    references: { 'benchmark client': () => benchmarkClient(programs, server, 1).p99 },
    extra: { bytes: BLOCK_BYTES, blocks: BLOCKS },
    compiledAfter: COMPILED_AFTER,
  });
}

export const remotePage: Bench = {
  name: 'remote-page',
  what: 'pages of 2 MiB that come from a Valkey server on this machine, beside its benchmark client',
  run,
};
