/** The manager ends, in each way that a mistake could make it end, while a thread of the application sits in a fault. */
import assert from 'node:assert/strict';
import { goneWithin, Program, type Traces } from '../harness/processes.js';
import { runTests, test } from '../harness/suite.js';

/**
 * The manager may stand still for 1 s, is looked at every 0.5 s, and a machine that does other things delays both. A loop that does not
 * end stands still by the time that it ran, which on such a machine is a small part of the time on the wall.
 */
const LIMIT_MS: Readonly<Record<string, number>> = { sleep: 5000, hang: 15_000 };
const USUAL_LIMIT_MS = 4000;

const messages = {
  throw: /^onemem: the memory manager ended: Error: crashed on purpose at .*Managed memory cannot be served/,
  exit: /^onemem: the memory manager ended with code 9\. Managed memory cannot be served/,
  heap: /^onemem: the memory manager ended: Error: .*out of memory.*Managed memory cannot be served/,
  sleep: /^onemem: the memory manager has not moved for 1 s\. Managed memory cannot be served/,
  hang: /^onemem: the memory manager has not moved for 1 s\. Managed memory cannot be served/,
};

for (const [how, message] of Object.entries(messages)) {
  for (const who of ['main', 'thread']) {
    test(`${how}, while ${who === 'main' ? 'the main thread' : 'another thread'} sits in a fault`, async () => {
      const program = new Program('manager-death', [how, who]);
      const traces = JSON.parse(await program.line('traces ')) as Traces;
      const began = Number(await program.line('ending '));
      const { code, signal, stdout, stderr, endedAt } = await program.outcome;
      assert.ok(code !== 0, `the exit status is ${code}`);
      assert.equal(signal, 'SIGKILL');
      assert.doesNotMatch(stdout, /^read/m, 'it went on after a page that nobody filled');
      assert.equal(stderr.trimEnd().split('\n').length, 1, `more than one line: ${stderr}`);
      assert.match(stderr, message);
      assert.ok(endedAt - began <= (LIMIT_MS[how] ?? USUAL_LIMIT_MS), `it took ${endedAt - began} ms to end`);
      assert.deepEqual(await goneWithin(1000, traces), []);
    });
  }
}

await runTests();
