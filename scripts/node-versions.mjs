// Runs the smoke program and the conformance suite under the versions of Node.js that package.json
// promises. They come as npm packages into node_modules/.cache, and are no dependencies of the
// project.
//
//   node scripts/node-versions.mjs            the oldest promised version
//   node scripts/node-versions.mjs 22 24      these
//   node scripts/node-versions.mjs --all      the long-term versions after it as well, and all of the suite under each
//
// Without --all the conformance suite runs only under majors other than the one that runs this,
// which has run it already, as a stage of its own; and of it only what a version of Node.js has a
// part in: processes, threads, files, views. What a device does with pages is the same under each.
// A version that cannot be fetched is a failure: a check that quietly does not run is worse than
// none.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fetchNode } from './fetch-node.mjs';
import { WITHOUT_CERTIFICATES } from './stages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const oldest = /^>=(\d+\.\d+)/.exec(engines.node)?.[1];
if (oldest === undefined)
  throw new Error(`engines.node is '${engines.node}', of which no oldest version can be read`);
const long = process.argv.includes('--all');
const asked = process.argv.slice(2).filter((word) => word !== '--all');
const versions = asked.length > 0 ? asked : [`${oldest}.0`, ...(long ? ['22', '24'] : [])];
const runningMajor = process.versions.node.split('.')[0];

/** Scenarios that a version of Node.js may break. */
const SCENARIOS = [
  'open_close',
  'anon_teardown',
  'file_write',
  'clone_partial_write',
  'migrate_resize_fault',
  'device_loss',
];

let passed = 0;
let failed = 0;

/**
 * Runs one of our test programs and adds its counts. Its output is shown only if something is
 * wrong.
 */
function runTests(program, version, path, args = []) {
  return new Promise((done) => {
    const started = performance.now();
    let output = '';
    const env = { ...process.env, ...WITHOUT_CERTIFICATES };
    const child = spawn(program, [join(root, '.build/test', path), ...args], { cwd: root, env });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    child.on('close', (code, signal) => {
      const counts = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)].at(-1);
      const [good, bad] = counts === undefined ? [0, 1] : [Number(counts[1]), Number(counts[2])];
      const wrong = bad > 0 || code !== 0;
      passed += good;
      failed += wrong ? Math.max(bad, 1) : 0;
      if (wrong) console.log(output.trimEnd().replace(/^/gm, '     '));
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      const end = wrong ? ` (${signal ?? `exit code ${code}`})` : '';
      console.log(
        `${wrong ? 'FAIL' : 'ok  '} ${version} ${path}: ${good} passed, ${bad} failed, ${seconds} s${end}`,
      );
      done();
    });
  });
}

for (const wanted of versions) {
  let node;
  try {
    node = fetchNode(wanted);
  } catch (error) {
    failed++;
    console.error(`FAIL NODE.JS ${wanted} WAS NOT TESTED: ${error.message}`);
    continue;
  }
  await runTests(node.program, node.version, 'smoke/main.js');
  const major = node.version.slice(1).split('.')[0];
  const all = long || asked.length > 0;
  if (all) await runTests(node.program, node.version, 'conformance/main.js');
  else if (major !== runningMajor) {
    const scenarios = SCENARIOS.flatMap((name) => ['--scenario', name]);
    await runTests(node.program, node.version, 'conformance/main.js', [
      '--device',
      'process',
      ...scenarios,
    ]);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
