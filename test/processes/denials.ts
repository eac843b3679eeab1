/** An attached process goes on after a denied system call: it has what it may have later. */
import assert from 'node:assert/strict';
import { type GuardFunction, type ManagedArray, openSpace } from '../../src/index.js';
import { type Agent, attachedAgent } from '../harness/agents.js';
import { longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const LENGTH = 4096;

function withAgent(
  action: (agent: Agent, x: ManagedArray<Int32Array>) => Promise<void>,
): () => Promise<void> {
  return async () => {
    await using space = await openSpace({ hostMemory: '32MiB' });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    x.data.fill(5);
    await using agent = await attachedAgent(space.share());
    await action(agent, x);
    space.checkInvariants();
  };
}

test(
  'a page that was denied shows its content once its rights are back',
  withAgent(async (agent, x) => {
    await x.protect('none');
    assert.equal(await agent.do('systemCall', 'reads', 'x', 0), 'EFAULT');
    assert.equal(await agent.do('systemCall', 'reads', 'x', 0), 'EFAULT');
    await x.protect('readwrite');
    assert.equal(await agent.do('systemCall', 'reads', 'x', 0), 'none');
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    assert.equal(agent.stderr.match(/denied access/g)?.length, 1);
  }),
);

longTest(
  'a page that could not be written is written once its rights are back',
  withAgent(async (agent, x) => {
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    await x.protect('read');
    assert.equal(await agent.do('systemCall', 'writes', 'x', 0), 'EFAULT');
    await x.protect('readwrite');
    assert.equal(await agent.do('systemCall', 'writes', 'x', 0), 'none');
    sameData(x.data, (i) => (i === 0 ? 7 : 5));
  }),
);

test(
  'threads wait for an element that nobody may write, and go on with its page',
  withAgent(async (agent, x) => {
    assert.equal(await agent.do('keep', 'x'), 5 * LENGTH);
    await x.protect('read');
    const begun = performance.now();
    assert.equal(await agent.do('waitKept', 0, 5, 700), 'timed-out');
    assert.ok(performance.now() - begun >= 700);
    assert.equal(await agent.do('waitKept', 0, 6, 10_000), 'not-equal');
    assert.equal(await agent.do('waitKept', 0, 5, 10), 'timed-out');
    assert.equal(x.space.notify(x, 0), 0);
    assert.equal(x.space.wait(x, 0, 5, 10), 'timed-out');
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    assert.equal(agent.stderr, '');
  }),
);

test(
  'a thread that waits for an element that nobody may write hears of a change once that may be',
  withAgent(async (agent, x) => {
    await agent.do('keep', 'x');
    let value = 5;
    // One that has not begun to wait by then is asked again, with more time.
    for (let result = '', ms = 300; result !== 'ok'; ms *= 2) {
      await x.protect('read');
      const waited = agent.do('waitKept', 0, value, 60_000);
      await sleep(ms);
      await x.protect('readwrite');
      x.data[0] = ++value;
      x.space.notify(x, 0);
      result = await waited;
      assert.ok(result === 'ok' || result === 'not-equal', result);
    }
    assert.equal(await agent.do('waitKept', 0, 5, 60_000), 'not-equal');
  }),
);

function moduleOf(guard: GuardFunction<never>): string {
  return `data:text/javascript,export default ${encodeURIComponent(String(guard))}`;
}

test(
  'a page that a guard refused is asked for again by the next guard, and is there without one',
  withAgent(async (agent, x) => {
    const guard = await x.guard({ module: moduleOf(() => 'refuse') });
    assert.equal(await agent.do('systemCall', 'reads', 'x', 0), 'EFAULT');
    await guard.close();
    const next = await x.guard({ module: moduleOf(() => 'note') });
    assert.equal(await agent.do('systemCall', 'reads', 'x', 0), 'none');
    assert.equal(next.report().noted, 1);
    await next.close();
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
  }),
);

await runTests();
