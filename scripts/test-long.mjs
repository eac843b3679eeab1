// What `npm test` has of chance, with fresh seeds and for long: schedules, programs, calls, threads; and all of what it has a part of:
// kills of devices, failing system calls, kinds of devices, tools, versions of Node.js.
//
//   npm run test:long                      70 minutes, 20 of them programs that are compared with plain arrays
//   npm run test:long -- --minutes 240     more of everything
//   npm run test:long -- --seed 17         what a run that printed this seed has played, as far as time allows
//   npm run test:long -- soak              only this stage, with its share of the minutes
//
// Ends with one plain line, as `npm test` does, and goes on after what failed. What failed prints how to see it again.

import { parseArgs } from 'node:util';
import { built, onSoftwareGpu, runStages } from './stages.mjs';

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '70' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 30));
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run test:long -- [--minutes N] [--seed S] [STAGE ...]');
  process.exit(2);
}
console.log(`seed ${seed}, ${minutes} minutes`);

/** More than the GPU in software binds at once, which is 1 GiB. */
const LARGE = ['--rows', '1310720', '--columns', '256', '--queries', '2'];

/** A stage that plays for a share of the minutes; the rest is for those that take as long as they take. */
function playing(name, share, folder, seedOption = '--seed') {
  const own = minutes * share;
  const run = built(folder, seedOption, String(seed), '--minutes', own.toFixed(2));
  return [{ name, run, seconds: own * 60 + 600 }];
}

await runStages(
  [
    [
      { name: 'types and build', run: ['npm', 'run', '-s', 'build'], seconds: 120, builds: true },
      { name: 'types of the tests', run: ['npm', 'run', '-s', 'build:test'], seconds: 120, builds: true },
    ],
    playing('simulation', 0.3, 'simulation', '--first-seed'),
    playing('model', 0.3, 'model'),
    playing('hostile calls', 0.15, 'hostile'),
    playing('soak', 0.15, 'soak'),
    [
      {
        name: 'killed devices',
        run: built('integration', 'device-death'),
        env: { ONEMEM_KILLS: '100', ONEMEM_SEED: String(seed) },
        seconds: 1800,
      },
    ],
    [
      {
        name: 'killed while spilling',
        run: built('integration', 'storage'),
        env: { ONEMEM_KILLS: '200', ONEMEM_SEED: String(seed) },
        seconds: 1800,
      },
    ],
    [{ name: 'examples', run: built('examples', '--mistakes'), seconds: 900 }],
    [{ name: 'conformance', run: built('conformance'), seconds: 900 }],
    [{ name: 'webgpu conformance', run: onSoftwareGpu('conformance', '--device', 'webgpu'), seconds: 900 }],
    [
      {
        name: 'webgpu',
        run: onSoftwareGpu('webgpu'),
        env: { ONEMEM_KILLS: '50', ONEMEM_SEED: String(seed) },
        seconds: 3600,
      },
    ],
    [
      {
        name: 'search in 1.25 GiB',
        run: [...'node scripts/software-gpu.mjs node .build/examples/gpu/embedding-search.js'.split(' '), ...LARGE],
        seconds: 1800,
      },
    ],
    [{ name: 'wgsl', run: onSoftwareGpu('wgsl', '--seed', String(seed), '--programs', '10000'), seconds: 7200 }],
    [{ name: 'suite', run: built('suite', '--all'), seconds: 1200 }],
    [{ name: 'system faults', run: built('system-faults', '--all'), seconds: 3600 }],
    [{ name: 'tools', run: built('tools', '--all'), fetches: true, seconds: 900 }],
    [{ name: 'node versions', run: ['node', 'scripts/node-versions.mjs', '--all'], fetches: true, seconds: 1800 }],
    [{ name: 'coherence', run: built('coherence', '--large'), seconds: 1800 }],
    [{ name: 'mutants', run: built('mutants', '--schedules', '3000'), seconds: 3600 }],
  ],
  { wanted: positionals, keepOn: true },
);
