/**
 * kill -9 at random moments: of the owner, a process that attached, or a device. Nobody hangs, no
 * byte is wrong, nothing is left. ONEMEM_KILLS says how many of each.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readHandle, socketName } from '../../src/pager/protocol/attaching.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { LONG, longTest, note, runTests, sleep, test } from '../harness/suite.js';

const LENGTH = 10 * 2 ** 20;
const ROUNDS = 200;
/** Device and inode of what is mapped where spaces lie. */
const MEMORY = /(?<=^6000[0-9a-f]{8}-.{20,40})[0-9a-f]+:[0-9a-f]+ \d+/m;
const KILLS = Number(process.env.ONEMEM_KILLS ?? (LONG ? 100 : 1));
/** Of a hundred groups of processes: on a busy machine one takes more than ten seconds. */
const LONG_SECONDS = 3600;

interface Group {
  readonly owner: Agent;
  readonly users: readonly [Agent, Agent];
  /** The process of the device. */
  readonly device: number;
  readonly handle: string;
  /** Processes that map its memory: as long as there is one, its pages stay. */
  readonly holders: readonly string[];
  /** Descriptors that the owner had for other processes before one attached. */
  readonly descriptors: number;
}

async function group(): Promise<Group> {
  const owner = new Agent();
  const { handle, device } = await owner.do('openWithDevice', LENGTH);
  const descriptors = descriptorsForOthers(owner.pid);
  const users = [await attachedAgent(handle), await attachedAgent(handle)] as const;
  const holders = holdersOf(owner.pid);
  for (const { pid } of users) assert.ok(holders.includes(`${pid}`));
  return { owner, users, device, handle, holders, descriptors };
}

/** Empty: the process has ended meanwhile. */
function lookAt(path: string): string {
  try {
    return path.includes('/fd/') ? readlinkSync(path) : readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** What the owner needs for each attached process. */
function descriptorsForOthers(pid: number): number {
  const all = readdirSync(`/proc/${pid}/fd`).map((fd) => lookAt(`/proc/${pid}/fd/${fd}`));
  return all.filter((name) => /^socket:|userfaultfd|pidfd/.test(name)).length;
}

function holdersOf(owner: number): string[] {
  const [memory] = lookAt(`/proc/${owner}/maps`).match(MEMORY) ?? [];
  assert.ok(memory !== undefined);
  const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return processes.filter((pid) => lookAt(`/proc/${pid}/maps`).includes(memory));
}

/**
 * What became of work that may have been cut off: the number of wrong elements, or why it ended.
 */
type Result = number | string;

async function resultOf(work: Promise<number>): Promise<Result> {
  return work.catch((error: Error & { code?: string }) => error.code ?? error.message);
}

function randomMoment(): Promise<void> {
  return sleep(Math.random() * 400);
}

/** Ends what is left of the group, of which nothing may stay. */
async function endAll({ owner, users, device, handle, holders }: Group): Promise<void> {
  await Promise.all([owner, ...users].map((agent) => agent.kill()));
  for (const pid of [device, ...holders]) while (existsSync(`/proc/${pid}`)) await sleep(5);
  const socket = `@${socketName(readHandle(handle)?.socket ?? '')}`;
  assert.ok(!lookAt('/proc/net/unix').includes(socket), `${socket} is left`);
}

const [forOwner, forUsers] = [true, false];

longTest(
  'a process that attached is killed: the owner and others go on with right data',
  async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const all = await group();
      const { owner, users } = all;
      const cut = resultOf(users[0].do('verify', 100 * ROUNDS, kill, forUsers));
      const others = [
        owner.do('verify', ROUNDS, kill, forOwner),
        users[1].do('verify', ROUNDS, kill + 7, forUsers),
      ];
      await randomMoment();
      users[0].process.kill('SIGKILL');
      assert.deepEqual(await Promise.all(others), [0, 0]);
      assert.match(String(await cut), /SIGKILL/);
      assert.equal(await users[1].do('verify', ROUNDS, kill, forUsers), 0);
      await users[1].kill();
      while (descriptorsForOthers(owner.pid) > all.descriptors) await sleep(5);
      await endAll(all);
    }
  },
  LONG ? LONG_SECONDS : 60,
);

test(
  'the owner is killed: each process reads right data, or ends in a line',
  async () => {
    const ends = new Map<string, number>();
    for (let kill = 0; kill < KILLS; kill++) {
      const all = await group();
      const results = all.users.map((user) =>
        resultOf(user.do('verify', 100 * ROUNDS, kill, forUsers)),
      );
      await randomMoment();
      all.owner.process.kill('SIGKILL');
      for (const [at, result] of (await Promise.all(results)).entries()) {
        const { stderr } = all.users[at];
        const told =
          /SIGBUS/.test(String(result)) && /which opened the space, has ended/.test(stderr);
        assert.ok(result === 0 || result === 'OWNER_LOST' || told, `${result} ${stderr}`);
        const end = told ? 'ended in a line' : String(result);
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
      await endAll(all);
    }
    note(JSON.stringify(Object.fromEntries(ends)));
  },
  LONG ? LONG_SECONDS : 60,
);

longTest(
  'a device is killed while processes use its arrays: what was written stays',
  async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const all = await group();
      const { owner, users, device } = all;
      const work = [owner.do('verify', ROUNDS, kill, forOwner)];
      work.push(...users.map((user, at) => user.do('verify', ROUNDS, kill + at, forUsers)));
      await randomMoment();
      process.kill(device, 'SIGKILL');
      assert.deepEqual(await Promise.all(work), [0, 0, 0]);
      await endAll(all);
    }
  },
  LONG ? LONG_SECONDS : 60,
);

await runTests();
