/**
 * The manager ends, in each way that a mistake could make it end, while a thread of the application
 * sits in a fault.
 */
import assert from 'node:assert/strict';
import { openSpace } from '../../src/index.js';
import { goneWithin, memoryFiles, Program, runProgram, type Traces } from '../harness/processes.js';
import { longTest, runTests, test } from '../harness/suite.js';

/**
 * The manager may stand still for 1 s of the time that it ran or slept, which on a machine that
 * does other things is a small part of the time on the wall.
 */
const LIMIT_SECONDS = 60;

const messages = {
  throw:
    /^onemem: the memory manager ended: Error: crashed on purpose at .*Managed memory cannot be served/,
  exit: /^onemem: the memory manager ended with code 9\. Managed memory cannot be served/,
  heap: /^onemem: the memory manager ended: its heap was full .*out of memory.*Managed memory cannot be served/,
  sleep: /^onemem: the memory manager has not moved for 1 s\. Managed memory cannot be served/,
  hang: /^onemem: the memory manager has not moved for 1 s\. Managed memory cannot be served/,
};

/** Each way once with one of the threads, and each thread with an end and with a standstill. */
const CHOSEN = ['throw main', 'exit thread', 'heap main', 'hang main'];

for (const [how, message] of Object.entries(messages)) {
  for (const thread of ['main', 'thread']) {
    const tested = CHOSEN.includes(`${how} ${thread}`) ? test : longTest;
    tested(
      `${how}, while ${thread === 'main' ? 'the main thread' : 'another thread'} sits in a fault`,
      async () => {
        const program = new Program('manager-death', [how, thread], { seconds: LIMIT_SECONDS });
        const traces = JSON.parse(await program.line('traces ')) as Traces;
        await program.line('ending ');
        // It ends by itself: what does not is ended by the test, which fails.
        const { code, signal, stdout, stderr } = await program.outcome;
        assert.ok(code !== 0, `the exit status is ${code}`);
        assert.equal(signal, 'SIGKILL');
        assert.doesNotMatch(stdout, /^read/m, 'it went on after a page that nobody filled');
        assert.equal(stderr.trimEnd().split('\n').length, 1, `more than one line: ${stderr}`);
        assert.match(stderr, message);
        assert.deepEqual(await goneWithin(10_000, traces), []);
      },
    );
  }
}

longTest('what another space has beside it is not what an ended process has left', async () => {
  const { code, stdout } = await runProgram('exiting', ['closed']);
  assert.equal(code, 0);
  const { session, pids } = JSON.parse(/^traces (.*)$/m.exec(stdout)?.[1] ?? '') as Traces;
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  assert.equal(space.devices.length, 1);
  // The kernel gives the numbers of files that are gone to new ones.
  const inodes = memoryFiles().map(({ inode }) => inode);
  // The host's memory, the device's, and what it shares with its units about launches.
  assert.equal(inodes.length, 3);
  assert.deepEqual(await goneWithin(0, { session, pids, inodes }), []);
});

await runTests(2 * LIMIT_SECONDS);
