/**
 * Every way in which a process with an open space can end: in time, with its own exit code, and
 * leaving nothing behind.
 */
import assert from 'node:assert/strict';
import { openSpace } from '../../src/index.js';
import {
  goneWithin,
  type Outcome,
  Program,
  runProgram,
  type Traces,
} from '../harness/processes.js';
import { longTest, runTests, sleep, test, variantTest } from '../harness/suite.js';

/** From the moment that the program begins to end until its process is gone. */
const LIMIT_MS = 10_000;

interface End {
  /** The cheaper tests beside it show nearly the same. */
  readonly long?: boolean;
  readonly code?: number;
  readonly signal?: NodeJS.Signals;
  /** Sent by the test, when the program has said that it waits. */
  readonly send?: NodeJS.Signals;
  readonly check?: (outcome: Outcome) => void;
}

const clean = ({ stderr }: Outcome): void => assert.equal(stderr, '');

const ways: Record<string, End> = {
  'natural end': { code: 0, check: clean },
  closed: { code: 0, check: clean },
  'exit code': { long: true, code: 4, check: clean },
  exit: { code: 3, check: clean },
  throw: { code: 1, check: ({ stderr }) => assert.match(stderr, /Error: thrown by the program/) },
  rejection: {
    long: true,
    code: 1,
    check: ({ stderr }) => assert.match(stderr, /Error: rejected by the program/),
  },
  'launch that runs': { code: 6, check: clean },
  'exit in a thread': {
    code: 0,
    check: ({ stdout }) => assert.match(stdout, /^thread ended with 7, elements are 3 and 3$/m),
  },
  'error in a thread': {
    code: 0,
    check: ({ stdout }) =>
      assert.match(stdout, /^thread failed with thrown by the thread, elements are 2 and 2$/m),
  },
  'terminated thread': {
    long: true,
    code: 0,
    check: ({ stdout }) => assert.match(stdout, /^elements are 3 and 3$/m),
  },
  'thread in a fault': { code: 5, check: clean },
  'thread that faults all the time': { long: true, code: 5, check: clean },
  'busy thread': { long: true, code: 0, check: clean },
  provider: {
    long: true,
    code: 0,
    check: ({ stdout, stderr }) =>
      assert.equal(`${/^element \d+$/m.exec(stdout)}${stderr}`, 'element 52'),
  },
  'busy provider': { long: true, code: 5, check: clean },
  'busy provider and a close': {
    long: true,
    code: 0,
    check: ({ stdout }) => assert.match(stdout, /^writing failed with SPACE_CLOSED$/m),
  },
  'provider in a fault': { code: 5, check: clean },
  listeners: {
    long: true,
    code: 8,
    check: ({ stdout }) => assert.match(stdout, /^listener: code 0, element 2$/m),
  },
  'late listeners with a thread': {
    code: 8,
    check: ({ stdout }) => assert.match(stdout, /^first: code 8, element 2\nsecond: element 2$/m),
  },
};

async function check(way: string, end: End): Promise<void> {
  const program = new Program('exiting', [way]);
  const traces = JSON.parse(await program.line('traces ')) as Traces;
  assert.equal(traces.pids.length, 2, 'the program and its device');
  if (way !== 'closed')
    assert.equal(
      traces.inodes.length,
      3,
      'memory of the host, of the device, and what this shares with its units',
    );
  let began: number;
  if (end.send === undefined) began = Number(await program.line('ending '));
  else {
    await program.line('waiting');
    // A thread that goes into a fault has said so just before.
    await sleep(100);
    began = Date.now();
    program.signal(end.send);
  }
  const outcome = await program.outcome;
  const took = outcome.endedAt - began;
  const shown = `it wrote:\n${outcome.stdout}${outcome.stderr}`;
  assert.equal(outcome.signal, end.signal ?? null, shown);
  assert.equal(outcome.code, end.code ?? null, shown);
  assert.ok(took <= LIMIT_MS, `it took ${took} ms to end; ${shown}`);
  assert.deepEqual(await goneWithin(LIMIT_MS, traces), []);
  end.check?.(outcome);
}

for (const [way, end] of Object.entries(ways))
  (end.long === true ? longTest : test)(way, () => check(way, end));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGKILL'] as const) {
  const tested = signal === 'SIGINT' || signal === 'SIGHUP' ? longTest : test;
  tested(signal, () => check('signal', { signal, send: signal }));
}
test('SIGTERM with a thread in a fault', () =>
  check('signal with a thread in a fault', { signal: 'SIGTERM', send: 'SIGTERM' }));

for (const [call, way, expected] of [
  ['madvise', 'exit', 3],
  ['socketpair', 'exit', 3],
  ['view', 'exit', 3],
  ['socketpair', 'throw', 1],
  ['munmap', 'exit', 3],
  ['munmap', 'terminate', 3],
] as const) {
  variantTest(`${way} while the manager makes what koffi calls ${call} by`, async () => {
    const { code, signal, stderr } = await runProgram('slow-call', [call, way]);
    assert.deepEqual({ code, signal }, { code: expected, signal: null }, stderr);
    assert.match(stderr, way === 'throw' ? /^Error: thrown by the program$/m : /^$/);
  });
}

test('exit while the thread of an attached process makes what koffi calls madvise by', async () => {
  await using space = await openSpace();
  const args = ['madvise', 'exit', space.share()];
  const { code, signal, stderr } = await runProgram('slow-call', args);
  assert.deepEqual({ code, signal, stderr }, { code: 3, signal: null, stderr: '' });
});

for (const [way, code] of [
  ['return', 0],
  ['exit', 5],
  ['throw', 1],
] as const) {
  variantTest(
    `a worker thread that ends by ${way} without a close leaves nothing of its space`,
    async () => {
      const { stdout, stderr } = await runProgram('ended-opener', [way]);
      const each = `element 2\ncode ${code}, device gone\n`;
      assert.equal(stdout, `${each}${each}more: 0 descriptors, 0 memory files\n`, stderr);
    },
  );
}

await runTests();
