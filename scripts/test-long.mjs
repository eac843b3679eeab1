// What `npm test` has of chance, with fresh seeds and for long: schedules, programs, calls,
// threads; and all of what it has a part of: kills of devices, failing system calls, kinds of
// devices, tools, versions of Node.js.
//
//   npm run test:long                      about 60 minutes on two CPUs
//   npm run test:long -- --minutes 240     more of what is played for a share of the minutes
//   npm run test:long -- --seed 17         what a run that printed this seed has played, as far as time allows
//   npm run test:long -- soak              only this stage, with its share of the minutes
//
// The stages run side by side. Ends with one plain line, as `npm test` does, and goes on after what
// failed. What failed prints how to see it again.

import { parseArgs } from 'node:util';
import { built, byDawnFfi, inBrowser, onLavapipe, onSoftwareGpu, runStages } from './stages.mjs';

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string' } },
  allowPositionals: true,
});
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 30));
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('usage: npm run test:long -- [--minutes N] [--seed S] [STAGE ...]');
  process.exit(2);
}
console.log(`seed ${seed}, ${minutes} minutes`);

const SEARCH = [
  '.build/examples/gpu/embedding-search.js',
  '--columns',
  '256',
  '--queries',
  '2',
  '--rows',
];
/** More than the GPU in software binds at once, which is 1 GiB, or 128 MiB. */
const SWIFTSHADER = ['node', 'scripts/software-gpu.mjs', 'node', ...SEARCH, '1310720'];
const LAVAPIPE = [
  'node',
  'scripts/software-gpu.mjs',
  '--gpu',
  'lavapipe',
  'node',
  ...SEARCH,
  '163840',
];

/**
 * A stage that plays for a share of the minutes; the rest is for those that take as long as they
 * take.
 */
function playing(name, share, run, seedOption = '--seed') {
  const own = minutes * share;
  return {
    name,
    run: [...run, seedOption, String(seed), '--minutes', own.toFixed(2)],
    seconds: own * 60 + 600,
  };
}

/** A stage that plays what there is, or so many kills. */
function whole(name, run, { kills, copyThreads, ...options } = {}) {
  const env = {
    ONEMEM_SEED: String(seed),
    ONEMEM_LONG: '1',
    ...(kills === undefined ? {} : { ONEMEM_KILLS: String(kills) }),
    ...(copyThreads ? { ONEMEM_COPY_THREADS: 'on' } : {}),
  };
  return { name, run, env, seconds: 3600, ...options };
}

await runStages(
  [
    [
      { name: 'types and build', run: ['npm', 'run', '-s', 'build'], seconds: 120, builds: true },
      {
        name: 'types of the tests',
        run: ['npm', 'run', '-s', 'build:test'],
        seconds: 120,
        builds: true,
      },
    ],
    // The longest first, so that the CPUs are busy to the end.
    [
      playing('simulation', 0.5, built('simulation', '--jobs', '1'), '--first-seed'),
      playing('model', 0.5, built('model', '--jobs', '1')),
      playing('hostile calls', 0.25, built('hostile')),
      playing('wgsl', 0.25, onSoftwareGpu('wgsl')),
      playing('wgsl by dawn-ffi', 0.15, byDawnFfi(onSoftwareGpu('wgsl'))),
      playing('wgsl on lavapipe', 0.15, onLavapipe('wgsl')),
      playing('soak', 0.25, built('soak')),
      whole('containers', built('containers')),
      whole('system faults', built('system-faults', '--all', '--jobs', '1')),
      whole('coherence', built('coherence', '--large')),
      whole('killed while spilling', built('integration', 'storage'), { kills: 200 }),
      whole('killed with a server behind', built('integration', 'valkey-kills'), { kills: 100 }),
      whole('killed devices', built('integration', 'device-death'), { kills: 100 }),
      whole('killed devices, threads of copies', built('integration', 'device-death'), {
        kills: 50,
        copyThreads: true,
      }),
      whole('conformance, threads of copies', built('conformance', '--device', 'process'), {
        copyThreads: true,
      }),
      whole('wgsl analysis', built('wgsl/analysis', '--modules', '10000', '--seed', String(seed))),
      whole('wgsl shapes', onSoftwareGpu('wgsl/shapes')),
      whole('wgsl shapes on lavapipe', onLavapipe('wgsl/shapes')),
      whole('webgpu', onSoftwareGpu('webgpu'), { kills: 50 }),
      whole('search in 1.25 GiB', SWIFTSHADER),
      whole('search in 160 MiB on lavapipe', LAVAPIPE),
      whole('conformance', built('conformance')),
      whole('custom conformance', built('conformance', '--device', 'custom')),
      whole('conformance in units', built('conformance', '--device', 'simulated-64KiB')),
      whole('conformance in large units', built('conformance', '--device', 'simulated-4MiB')),
      whole('webgpu conformance', onSoftwareGpu('conformance', '--device', 'webgpu')),
      whole('webgpu-lent conformance', onSoftwareGpu('conformance', '--device', 'webgpu-lent')),
      whole('webgpu by dawn-ffi', byDawnFfi(onSoftwareGpu('webgpu')), { kills: 50, fetches: true }),
      whole(
        'webgpu conformance by dawn-ffi',
        byDawnFfi(onSoftwareGpu('conformance', '--device', 'webgpu')),
        {
          fetches: true,
        },
      ),
      whole('webgpu on lavapipe by dawn-ffi', byDawnFfi(onLavapipe('webgpu')), { fetches: true }),
      whole('webgpu on lavapipe', onLavapipe('webgpu')),
      whole('webgpu conformance on lavapipe', onLavapipe('conformance', '--device', 'webgpu')),
      whole(
        'webgpu-lent conformance on lavapipe',
        onLavapipe('conformance', '--device', 'webgpu-lent'),
      ),
      whole('package', built('package'), { fetches: true }),
      whole('suite', built('suite', '--all')),
      whole('tools', built('tools', '--all'), { fetches: true }),
      whole('node versions', ['node', 'scripts/node-versions.mjs', '--all'], { fetches: true }),
      whole('unit', ['npm', 'run', '-s', 'unit']),
      whole('integration', built('integration', '--except', 'storage', '--except', 'device-death')),
      whole('users', built('users')),
      whole('processes', built('processes')),
      whole('command line', built('cli')),
      whole('browser', inBrowser('browser')),
      whole('examples', built('examples', '--mistakes')),
      whole('mutants', built('mutants', '--schedules', '3000', '--jobs', '1')),
    ],
  ],
  { wanted: positionals, keepOn: true },
);
