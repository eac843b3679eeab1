/**
 * Random histories of programs that share an array, while its server stands still at times, and
 * connections are cut.
 */
import assert from 'node:assert/strict';
import { Program } from '../harness/processes.js';
import { Relay } from '../harness/relay.js';
import { LONG, note, runTests, sleep } from '../harness/suite.js';
import { longTestWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const PROGRAMS = 3;
const BLOCKS = 3;
const MS = LONG ? 120_000 : 1500;
/** What a program that does not end is given besides. */
const MORE_SECONDS = 120;
/** No lease of this ends, however busy the machine is. */
const LONG_LEASE_MS = 60_000;
const SHORT_LEASE_MS = 1000;

interface Said {
  readonly adds: number;
  readonly launched: number;
  /** Times that a block was seen with fewer additions than before. */
  readonly less: number;
  readonly failed: Readonly<Record<string, number>>;
  readonly sums: readonly [number, number];
}

/**
 * Has programs do what a seed says while something happens to them again and again, and what all of
 * them say at the end.
 */
async function history(
  url: string,
  leaseMs: number,
  happens: (below: (most: number) => number) => Promise<void>,
) {
  const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 30));
  note(`ONEMEM_SEED=${seed}`);
  const programs = Array.from({ length: PROGRAMS }, (_, at) => {
    const args = [url, leaseMs, seed * PROGRAMS + at, PROGRAMS].map(String);
    return new Program('sharing-history', args, { seconds: MS / 1000 + MORE_SECONDS });
  });
  for (const program of programs) await program.line('runs');
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % most;
  };
  for (const end = performance.now() + MS; performance.now() < end; ) await happens(below);
  for (const program of programs) program.signal('SIGUSR2');
  const all: Said[] = [];
  for (const program of programs) {
    const { code, stdout, stderr } = await program.outcome;
    assert.equal(code, 0, stderr);
    all.push(JSON.parse(stdout.slice(stdout.indexOf('{'))) as Said);
  }
  note(JSON.stringify(all));
  return all;
}

async function pause(server: ValkeyServer, ms: number): Promise<void> {
  server.signal('SIGSTOP');
  await sleep(ms);
  server.signal('SIGCONT');
}

function total(all: readonly Said[], what: 'adds' | 'launched'): number {
  return all.reduce((sum, each) => sum + each[what], 0);
}

longTestWithValkey(
  'nothing is lost, and nobody is told so, where connections are cut and the server stands still within leases',
  async () => {
    await using server = await ValkeyServer.start();
    await using relay = await Relay.start(server.file('socket'));
    const all = await history(relay.url, LONG_LEASE_MS, async (below) => {
      await sleep(below(400));
      if (below(4) === 0) await pause(server, below(500));
      relay.cut();
    });
    for (const { failed, less } of all) assert.deepEqual([failed, less], [{}, 0]);
    for (const { sums } of all)
      assert.deepEqual(sums, [total(all, 'adds'), BLOCKS * total(all, 'launched')]);
  },
  MS / 1000 + MORE_SECONDS + 60,
);

longTestWithValkey(
  'nobody waits for ever where the server stands still for longer than leases',
  async () => {
    await using server = await ValkeyServer.start();
    const all = await history(server.url, SHORT_LEASE_MS, async (below) => {
      await sleep(below(600));
      await pause(server, below(1.5 * SHORT_LEASE_MS));
    });
    for (const { failed, sums } of all) {
      for (const name of Object.keys(failed))
        assert.match(name, /^((launch|copy|toBuffer) NODE_LOST|(last )?fence DATA_LOST)$/);
      assert.ok(sums[0] <= total(all, 'adds'), 'more was added than any program has added');
      assert.deepEqual(sums, all[0].sums);
    }
  },
  MS / 1000 + MORE_SECONDS + 60,
);

await runTests();
