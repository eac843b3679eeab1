/** A guard is asked about processes that are attached, too, and names them. */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  type GuardFunction,
  type ManagedArray,
  openSpace,
} from '../../src/index.js';
import { attachedAgent } from '../harness/agents.js';
import { runTests, sameData, test } from '../harness/suite.js';

const PAGE = 1024;
const LENGTH = 64 * PAGE;

function moduleOf(guard: GuardFunction<never>): string {
  return `data:text/javascript,export default ${encodeURIComponent(String(guard))}`;
}

function withArray(
  action: (x: ManagedArray<Int32Array>, space: AddressSpace) => Promise<void>,
): () => Promise<void> {
  return async () => {
    await using space = await openSpace({ hostMemory: '64MiB' });
    const x = space.array(Int32Array, LENGTH, { name: 'x' });
    x.data.fill(5);
    await action(x, space);
    space.checkInvariants();
  };
}

test(
  'what an attached process touches is asked about again, though it had the right before',
  withArray(async (x, space) => {
    await using agent = await attachedAgent(space.share());
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    const guard = await x.guard({ module: moduleOf(() => 'note') });
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
    const { noted, notes } = guard.report();
    assert.equal(noted, LENGTH / PAGE);
    const { processor, ...first } = notes[0];
    assert.match(processor, new RegExp(`\\b${agent.pid}\\b`));
    assert.deepEqual(first, { begin: 0, end: PAGE, write: false });
    await guard.close();
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH);
  }),
);

test(
  'a store that the guard refuses ends the attached process, and no other one',
  withArray(async (x, space) => {
    const agent = await attachedAgent(space.share());
    assert.equal(await agent.do('fill', 'x', 0, 1, 6), undefined);
    const guard = await x.guard({
      module: moduleOf(({ processor, write }: { processor: string; write: boolean }) =>
        write && processor !== 'host' ? 'refuse' : 'allow',
      ),
    });
    assert.equal(await agent.do('sum', 'x'), 5 * LENGTH + 1);
    assert.equal(await agent.endsBy('fill', 'x', 0, 10, 1), 'SIGBUS');
    assert.match(agent.stderr, /denied access: .* array x, .*guard.* does not let /);
    assert.equal(guard.report().refused, 1);
    x.data[1] = 7;
    sameData(x.data, (i) => (i < 2 ? 6 + i : 5));
  }),
);

await runTests();
