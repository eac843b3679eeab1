/**
 * What the pages say is there: links, anchors, commands, source files; and their programs, and
 * those of doc comments, print what they say.
 *
 *   npm run -s docs-test              all
 *   npm run -s docs-test -- files     checks whose name holds the word
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openSpace } from '../../src/index.js';
import { Checks } from '../harness/checks.js';
import { ValkeyServer, valkeyPrograms } from '../harness/valkey-server.js';
import { wrongCommands } from './commands.js';
import { commentExamples, programOf } from './comments.js';
import { anchorsOf, blocksOf, linksOf, type Page, pages, proseOf, ROOT } from './pages.js';
import { ProgramFolder } from './programs.js';
import { checkUnits, unitsOf } from './units.js';

const [wanted = ''] = process.argv.slice(2);
const checks = new Checks();

async function check(name: string, run: () => unknown): Promise<void> {
  if (name.includes(wanted)) await checks.check(name, run);
}

function brokenLinks(page: Page): string[] {
  return linksOf(page)
    .filter(({ target, anchor }) => {
      const file = target === '' ? page.path : join(dirname(page.path), target);
      if (!existsSync(join(ROOT, file))) return true;
      return (
        anchor !== undefined && !anchorsOf(readFileSync(join(ROOT, file), 'utf8')).includes(anchor)
      );
    })
    .map(({ target, anchor }) => (anchor === undefined ? target : `${target}#${anchor}`));
}

const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
const sources = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' });

/** Source files and folders that a page names and that are not there. */
function missingSources(page: Page): string[] {
  const named = [...proseOf(page).matchAll(/`([\w./-]+(?:\.ts|\/))`/g)].map(([, name]) => name);
  return named.filter((name) => {
    if (/^(dist|\.build)\//.test(name) || existsSync(join(ROOT, name))) return false;
    const file = name.replace(/\/$/, '');
    return !sources.some((source) => source === file || source.endsWith(`/${file}`));
  });
}

/** Names of source files on a page of the internals that several files have. */
function ambiguousSources(page: Page): string[] {
  if (!page.path.startsWith('docs/internals/')) return [];
  const named = [...proseOf(page).matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => name);
  return named.filter(
    (name) =>
      !sources.includes(name) && sources.filter((source) => source.endsWith(`/${name}`)).length > 1,
  );
}

/** Members such as `Router.readWaitedFor` that a page of the internals names and no source has. */
function missingMembers(page: Page): string[] {
  if (!page.path.startsWith('docs/internals/')) return [];
  const texts = sources
    .filter((source) => source.endsWith('.ts'))
    .map((source) => readFileSync(`${ROOT}src/${source}`, 'utf8'));
  return [...proseOf(page).matchAll(/`([A-Z]\w+)\.([a-z]\w*)\b/g)]
    .filter(([, owner, member]) => {
      const declared = new RegExp(`(class|interface|type|const) ${owner}\\b`);
      const has = new RegExp(`\\b${member}\\b`);
      return !texts.some((text) => declared.test(text) && has.test(text));
    })
    .map(([, owner, member]) => `${owner}.${member}`);
}

/** A page's programs import the package. GPUs have theirs run by test/webgpu/. */
async function runPrograms(page: Page): Promise<void> {
  using folder = new ProgramFolder();
  for (const { language, code, comment } of blocksOf(page)) {
    if (language !== 'js' || /'webgpu'|typegpu/.test(code)) continue;
    const [, file] = /^\/\/ ([\w-]+\.js)\n/.exec(code) ?? [];
    if (file !== undefined) {
      folder.write(file, code);
      if (comment === 'runs alone') await folder.runAlone(file, code);
    } else if (!/^import .* from 'onemem'/m.test(code)) continue;
    else if (comment === 'needs NumPy' && !hasNumpy) console.log('     SKIPPED: no NumPy');
    else if (comment !== 'needs a Valkey server') await folder.run(code);
    else if (typeof valkeyPrograms() === 'string') console.log(`     SKIPPED: ${valkeyPrograms()}`);
    else {
      await using server = await ValkeyServer.start();
      await folder.run(code.replace('valkey://127.0.0.1:6379', server.url));
    }
  }
}

// Some programs wait for what keeps no process alive.
const alive = setInterval(() => {}, 60_000);
const all = pages();
for (const page of all) {
  await check(`links of ${page.path}`, () => assert.deepEqual(brokenLinks(page), []));
  await check(`commands of ${page.path}`, () => assert.deepEqual(wrongCommands(page), []));
  await check(`sources that ${page.path} names`, () => assert.deepEqual(missingSources(page), []));
  await check(`sources that ${page.path} names alike`, () =>
    assert.deepEqual(ambiguousSources(page), []),
  );
  await check(`members that ${page.path} names`, () => assert.deepEqual(missingMembers(page), []));
  if (unitsOf(page).length > 0) await check(`units of ${page.path}`, () => checkUnits(page));
}
// Those of the reference are examples of doc comments, which are run below.
for (const page of all.filter(({ path }) => !path.startsWith('api/'))) {
  if (/^import .* from 'onemem'/m.test(page.text))
    await check(`programs of ${page.path}`, () => runPrograms(page));
}
{
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
  (globalThis as { onememExamples?: object }).onememExamples = { space };
  for (const example of commentExamples()) {
    await check(`example of ${example.place}`, async () => {
      using folder = new ProgramFolder();
      await folder.run(programOf(example));
    });
  }
}
clearInterval(alive);
checks.finish();
