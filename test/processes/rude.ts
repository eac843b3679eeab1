/**
 * Processes that are rude, a hundred of each kind: each is refused or cut off, and the owner, its
 * arrays and other processes are as before.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { encodeFrame } from '../../src/pager/protocol/frames.js';
import { type Agent, attachedAgent } from '../harness/agents.js';
import { forged, random } from '../harness/forged-requests.js';
import { until } from '../harness/processes.js';
import { LONG, longTest, note, runTests, sameData, test } from '../harness/suite.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PROGRAM = `${ROOT}/test/processes/programs/rude.py`;
const LENGTH = 2 ** 20;
const COUNT = Number(process.env.ONEMEM_RUDE ?? (LONG ? 100 : 2));
const FORGED = 100 * COUNT;
const SECONDS = 300;

/** By kind, how such a process may end. */
const ENDS: Readonly<Record<string, RegExp>> = {
  stranger: /^closed$/,
  wrong_token: /^refused SPACE_HANDLE$/,
  old_token: /^refused SPACE_HANDLE$/,
  old_handle: /^refused OWNER_LOST$/,
  other_version: /^refused SPACE_HANDLE$/,
  garbage_greeting: /^(refused|closed)/,
  silence: /^gone$/,
  wrong_descriptors: /^(refused|closed)/,
  no_faults: /^(refused|closed|served)/,
  faults_elsewhere: /^gone$/,
  forks: /^gone$/,
  forged: /^(gone|cut off)$/,
  garbage: /^cut off$/,
  too_long: /^cut off$/,
  half_said: /^gone$/,
  flood: /^(gone|cut off)$/,
  deaf: /^cut off$/,
  talks_on_its_end: /^gone$/,
};

/** Of the two that the program is given: one with a long answer, and those that are forged. */
function* requests(): Generator<Uint8Array> {
  const value = { range: 2, name: 'x', offset: 4 * LENGTH, bytes: 2 ** 20 };
  yield encodeFrame({ id: 1, name: 'readBytes', value }, 'v8');
  const next = random(COUNT);
  for (let count = 0; count < FORGED; count++) yield encodeFrame(forged(next), 'json');
}

/** So many processes of each kind; a line for each says which it was and how it ended. */
async function run(
  kinds: string,
  count: number,
  handles: readonly [string, string],
): Promise<string[]> {
  const child = spawn('python3', [PROGRAM, kinds, `${count}`, ...handles], {
    env: { ...process.env, PYTHONPATH: `${ROOT}/python`, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  for (const request of requests()) child.stdin.write(request);
  child.stdin.end();
  await once(child, 'close');
  return said.trim().split('\n');
}

interface Opened {
  readonly space: AddressSpace;
  readonly x: Int32Array;
  /** What they are given: of this space, and of one that is no more. */
  readonly handles: readonly [string, string];
  /** A process that attached before them. */
  readonly friend: Agent;
}

async function open(): Promise<Opened> {
  const old = await openSpace({ hostMemory: '32MiB' });
  const oldHandle = old.share();
  await old.close();
  const devices = [{ kind: 'process', memory: '8MiB' }] as const;
  const space = await openSpace({ hostMemory: '256MiB', devices });
  // What is forged names the first range.
  space.array(Int32Array, LENGTH, { name: 'y', keep: true });
  const x = space.array(Int32Array, LENGTH, { name: 'x', keep: true }).data;
  x.fill(5);
  const handle = space.share();
  const friend = await attachedAgent(handle);
  await friend.do('sum', 'x');
  return { space, x, handles: [handle, oldHandle], friend };
}

let opened: Promise<Opened> | null = null;

async function close(): Promise<void> {
  const last = await opened;
  await last?.friend.kill();
  await last?.space.close();
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

async function harmNobody(kinds: readonly string[]): Promise<void> {
  opened ??= open();
  const { space, x, handles, friend } = await opened;
  // A space opens some things with their first use, as a timer for launches.
  await run(kinds.join(), 1, handles);
  const before = { descriptors: descriptors(), processors: space.stats().processors.length };
  const ends = await run(kinds.join(), COUNT, handles);
  assert.equal(ends.length, COUNT * kinds.length);
  for (const each of ends) {
    const [kind, ...end] = each.split(' ');
    assert.match(end.join(' '), ENDS[kind], each);
  }
  await until('they are gone', () => space.stats().processors.length === before.processors);
  await until('their descriptors are closed', () => descriptors() <= before.descriptors);
  sameData(x, () => 5);
  assert.equal(await friend.do('sum', 'x'), 5 * LENGTH);
  assert.deepEqual(await run('polite', 1, handles), [`polite ${(5 * LENGTH) / 1024}`]);
  space.checkInvariants();
}

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) note('python3 is not here: no process is rude');
const isRoot = process.getuid?.() === 0;
if (!isRoot) note('only root can be another user, or hear of forks: these kinds are left out');
const needsRoot = ['stranger', 'forks'];
const all = Object.keys(hasPython ? ENDS : {});
const kinds = all.filter((kind) => isRoot || !needsRoot.includes(kind));
for (const kind of kinds)
  longTest(
    `${COUNT} processes harm nobody: ${kind.replaceAll('_', ' ')}`,
    () => harmNobody([kind]),
    SECONDS,
  );
if (!LONG) test('rude processes of each kind harm nobody', () => harmNobody(kinds), SECONDS);

await runTests();
await close();
