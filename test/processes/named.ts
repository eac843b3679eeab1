/** Spaces that outlive programs: `onemem serve`, `openSpace({ at })`, `onemem rm`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { allSpaces } from '../../src/api/objects/listing.js';
import { openSpace } from '../../src/index.js';
import { factsOf } from '../../src/linux/processes/process-facts.js';
import { Agent } from '../harness/agents.js';
import { Folder } from '../harness/command.js';
import { failsWith, longTest, runTests, sleep, test } from '../harness/suite.js';

let names = 0;

/** A name that no other test has; the space ends with the test. */
async function named(action: (name: string, folder: Folder) => Promise<void>): Promise<void> {
  const name = `test-${process.pid}-${++names}`;
  using folder = new Folder();
  try {
    await action(name, folder);
  } finally {
    await folder.run('rm', name);
  }
}

/** The process that keeps the space. */
function keeper(name: string): number | undefined {
  return allSpaces().spaces.find((space) => space.name === name)?.owner.pid;
}

/** Processes that were started for the space, also those that keep none. */
function keepersOf(name: string): number {
  const commands = readdirSync('/proc').map((entry) => factsOf(Number(entry))?.command ?? '');
  return commands.filter((command) => command.endsWith(`serve --name ${name}`)).length;
}

async function served(folder: Folder, name: string, ...args: string[]): Promise<number> {
  const running = folder.start('serve', '--name', name, '--host-memory', '64MiB', ...args);
  for (;;) {
    const pid = keeper(name);
    if (pid !== undefined) return pid;
    const ended = await Promise.race([running.ended, sleep(20)]);
    assert.equal(ended, undefined, JSON.stringify(ended));
  }
}

/** A process that uses the space of this name. */
async function user(name: string): Promise<Agent> {
  const agent = new Agent();
  await agent.do('openAt', name);
  return agent;
}

async function leave(agent: Agent): Promise<void> {
  agent.process.disconnect();
  await once(agent.process, 'exit');
}

test('the first program starts the space, and kept arrays wait for the next one', () =>
  named(async (name) => {
    const first = await user(name);
    await first.do('make', 'kept', 1000, 7, true);
    await first.do('make', 'gone', 1000, 8, false);
    await leave(first);
    await using second = await user(name);
    assert.equal(await second.do('sum', 'kept'), 7000);
    while (await second.do('has', 'gone')) await sleep(10);
    await assert.rejects(second.do('sum', 'gone'), /there is no array gone/);
  }));

longTest('programs that start one space at the same moment find the same one', () =>
  named(async (name) => {
    const agents = [new Agent(), new Agent()];
    await Promise.all(agents.map((agent) => agent.do('openAt', name)));
    await agents[0].do('make', 'x', 10, 3, false);
    assert.equal(await agents[1].do('sum', 'x'), 30);
    // The process that came too late ends.
    while (keepersOf(name) > 1) await sleep(20);
    await Promise.all(agents.map((agent) => agent.kill()));
  }),
);

longTest('an array without keep stays as long as another process has a view of it', () =>
  named(async (name, folder) => {
    await served(folder, name);
    const maker = await user(name);
    await using other = await user(name);
    await maker.do('make', 'x', 1000, 2, false);
    assert.equal(await other.do('keep', 'x'), 2000);
    await maker.kill();
    await sleep(100);
    assert.equal(await other.do('readKept', 999), 2);
    await other.kill();
    await using third = await user(name);
    while (await third.do('has', 'x')) await sleep(10);
  }),
);

longTest('a killed program leaves kept arrays and nothing else', () =>
  named(async (name, folder) => {
    await served(folder, name);
    const killed = await user(name);
    await killed.do('make', 'kept', 10, 1, true);
    await killed.do('make', 'gone', 10, 1, false);
    await killed.kill();
    await using other = await user(name);
    while (await other.do('has', 'gone')) await sleep(10);
    assert.equal(await other.do('sum', 'kept'), 10);
  }),
);

longTest('a quota refuses what a name may not have, and freeing gives it back', () =>
  named(async (name, folder) => {
    await served(folder, name, '--quota', 'alice=1MiB');
    await using agent = await user(name);
    await agent.do('make', 'alice/a', 200_000, 1, false);
    const error = await failsWith('QUOTA', () => agent.do('make', 'alice/b', 100_000, 1, false));
    assert.match(
      error.message,
      /400000 bytes, and of the quota of 1048576 bytes .* 248576 are left/,
    );
    await agent.do('make', 'bob', 300_000, 1, false);
    await failsWith('QUOTA', () => agent.do('clone', 'bob', 'alice'));
    await agent.do('free', 'alice/a');
    await agent.do('make', 'alice/b', 100_000, 1, false);
  }),
);

longTest('rm frees arrays by name, and ends the space: users are told', () =>
  named(async (name, folder) => {
    const pid = await served(folder, name);
    await using agent = await user(name);
    await agent.do('make', 'x', 10, 1, true);
    await folder.succeed('rm', name, 'x');
    assert.equal(await agent.do('has', 'x'), false);
    await folder.fail(1, /has no array x/, 'rm', name, 'x');
    await folder.succeed('rm', name);
    while (existsSync(`/proc/${pid}`)) await sleep(10);
    await failsWith('OWNER_LOST', () => agent.do('names'));
    await folder.fail(1, /there is no space/, 'rm', name);
  }),
);

longTest('a name that is taken is refused, and devices of the space serve its users', () =>
  named(async (name, folder) => {
    await served(folder, name, '--device', 'process:8MiB');
    await folder.fail(1, /there is a space test-\S+ already/, 'serve', '--name', name);
    await using agent = await user(name);
    await agent.do('make', 'x', 10, 1, false);
    await agent.do('launch', 'x');
    assert.equal(await agent.do('sum', 'x'), 20);
  }),
);

longTest('a saved space is served to programs that come and go', () =>
  named(async (name, folder) => {
    const path = folder.file('saved');
    await using space = await openSpace({ hostMemory: '64MiB' });
    space.array(Int32Array, 1000, { name: 'x' }).data.fill(4);
    await space.save(path);
    await served(folder, name, '--from', path);
    await using agent = await user(name);
    assert.equal(await agent.do('sum', 'x'), 4000);
  }),
);

test('more host memory than there is warns the program that starts the space', () =>
  named(async (name) => {
    const warned = once(process, 'warning');
    const space = await openSpace({ at: name, hostMemory: '100TiB' });
    const [warning] = await warned;
    assert.equal(warning.code, 'ONEMEM_MEMORY');
    assert.match(warning.message, /^hostMemory is 109951162777600 bytes, more than/);
    await space.close();
  }));

test('a command line that cannot be is refused', async () => {
  using folder = new Folder();
  await folder.refuse(2, /--device is 'quantum'/, 'serve', '--name', 'a', '--device', 'quantum');
  await folder.refuse(2, /needs --name/, 'serve');
  await folder.refuse(2, /--name: the name of a space is "\.\."/, 'serve', '--name', '..');
  await folder.refuse(1, /the name of a space is "\.\.\/x"/, 'rm', '../x');
});

longTest('a space that does not start says why', async () => {
  await using agent = new Agent();
  await failsWith('SPACE_NAME', () => agent.do('openAt', '../x'));
  const error = await failsWith('SPACE_START', () =>
    agent.do('openAt', `test-${process.pid}-none`, '--require=/nowhere.cjs'),
  );
  assert.match(error.message, /cannot start space test-\S+: its process ended \(1\)/);
});

await runTests();
