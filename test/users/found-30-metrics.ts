/** Counters of spaces by the package `prom-client`. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { Registry, register } from 'prom-client';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const LIBRARY = new URL('../../src/index.js', import.meta.url).href;

function opened(): Promise<AddressSpace> {
  return openSpace({ hostMemory: '64MiB', storage: false });
}

/** The samples of a metric, by the space that they are of. */
function samples(text: string, metric: string): Map<string, number> {
  const lines = text.matchAll(/^(\w+)\{.*?space="([^"]+)".*\} (\S+)$/gm);
  return new Map(
    [...lines].filter(([, name]) => name === metric).map(([, , space, value]) => [space, +value]),
  );
}

test('counters are collected when they are asked for, from all open spaces', async () => {
  const registry = new Registry();
  await using first = await opened();
  const second = await opened();
  await first.collectMetrics({ register: registry });
  await second.collectMetrics({ register: registry });
  // Again is nothing new.
  await second.collectMetrics({ register: registry });
  first.array(Float32Array, 1024);
  second.array(Float32Array, 1024);
  second.array(Float32Array, 1024);
  assert.deepEqual(
    new Set(samples(await registry.metrics(), 'onemem_arrays').values()),
    new Set([1, 2]),
  );
  await second.close();
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(
    [...samples(await registry.metrics(), 'onemem_arrays')],
    [[first.handle.name, 1]],
  );
});

test('they say the same as the text of the space, each with its type', async () => {
  await using space = await opened();
  await space.collectMetrics();
  space.array(Float32Array, 4096).data.fill(1);
  const own = new Set(space.metrics().trimEnd().split('\n'));
  const collected = new Set((await register.metrics()).trimEnd().split('\n'));
  const changing = /onemem_manager_cpu_seconds_total\{/;
  for (const line of own) assert.ok(changing.test(line) || collected.has(line), line);
  register.clear();
});

test('what is no registry is refused', async () => {
  await using space = await opened();
  const error = await failsWith('OPTIONS', () => space.collectMetrics({ register: 5 as never }));
  assert.match(error.message, /register is a Registry of prom-client, not 5/);
});

test('without the package the error names the line that installs it', async () => {
  using folder = new Folder();
  const hook = `export const resolve = (name, context, next) => {
    if (name === 'prom-client') throw new Error('no such package');
    return next(name, context);
  };`;
  const code = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
  const program = `import { register } from 'node:module';
    register(${JSON.stringify(code(hook))});
    const { openSpace } = await import(${JSON.stringify(LIBRARY)});
    const space = await openSpace({ hostMemory: '64MiB', storage: false });
    await space.collectMetrics().catch(({ code, message }) => console.log(code, message));
    await space.close();`;
  const path = folder.write('program.mjs', program);
  const { stdout, stderr } = spawnSync(process.execPath, [path], { encoding: 'utf8' });
  assert.match(stdout, /^PACKAGE_MISSING .*no such package.*: npm install prom-client\n$/, stderr);
});

await runTests();
