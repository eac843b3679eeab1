// Runs every check in order, and ends with one plain line: `N passed, N failed`.
//
//   node scripts/test.mjs              everything; stops after the first group in which a stage fails
//   node scripts/test.mjs unit lint    only these stages, in the table's order
//
// What everything else needs is built first. The stages of a group run side by side, those first
// that take longest or say most for little, so that the CPUs are busy to the end: each uses one CPU
// at most, and no test's result depends on how long things take, but for limits that only what
// hangs reaches. A stage whose program is missing fails: a check that quietly does not run is worse
// than none. Seeds are fixed here, so that what fails is what was changed; `npm run test:long` has
// fresh ones, and more of everything.

import { built, byDawnFfi, inBrowser, onSoftwareGpu, runStages } from './stages.mjs';

const npm = (script) => ['npm', 'run', '-s', script];

/**
 * What a GPU in software is asked in every run: what moves pages to and from a device. All is asked
 * in `npm run test:long`.
 */
const ON_GPU =
  'migrate oversubscribe migrate_zero snapshot cow_in_device exclusive migrate_alloc_failure device_loss anon_write_child_shared';

/**
 * The same for the simulated device, which has no page faults: all is asked of a device that has,
 * and of every kind in `npm run test:long`.
 */
const ON_SIMULATED =
  'file_read migrate migrate_release double_map oversubscribe snapshot cow_in_device exclusive migrate_alloc_failure device_loss';

const UNIT_KINDS = ['--device', 'simulated-64KiB', '--device', 'simulated-4MiB'];

/** Where the pages of its units go apart: what is asked of the simulated device with larger pages. */
const IN_UNITS = 'migrate_mixed migrate_partial_free_fault cow_in_device';

/** What is left to `npm run test:long`. */
const DEAR =
  'benchmark_block_migration anon_read_child anon_write_prot_child anon_teardown_child file_read_child migrate_release_child ' +
  'migrate_resize_child double_map_child pin_child';

/**
 * Files of integration tests of what lies behind RAM: storage, and servers. They and the others
 * take as long as all else together.
 */
const BEHIND =
  'storage valkey valkey-cluster valkey-connections valkey-kills valkey-tls-cluster sharing-arrays sharing-failures sharing-histories sharing-members sharing-operations ' +
  'sharing-steps shared-larger';

/** Options of the conformance suite. */
const scenarios = (names) => names.split(' ').flatMap((name) => ['--scenario', name]);

await runStages(
  [
    [
      { name: 'lint', run: npm('lint'), seconds: 60 },
      { name: 'types and build', run: npm('build'), seconds: 120, builds: true },
      { name: 'types of the tests', run: npm('build:test'), seconds: 120, builds: true },
    ],
    [
      {
        name: 'integration',
        run: built('integration', ...BEHIND.split(' ').flatMap((file) => ['--except', file])),
        seconds: 900,
      },
      {
        name: 'integration behind RAM',
        run: built('integration', ...BEHIND.split(' ')),
        seconds: 600,
      },
      { name: 'coherence', run: built('coherence'), seconds: 600 },
      { name: 'unit', run: npm('unit'), seconds: 300 },
      { name: 'boundaries', run: npm('boundaries'), seconds: 120 },
      { name: 'api', run: npm('api:check'), seconds: 60 },
      { name: 'documentation', run: built('documentation'), fetches: true, seconds: 480 },
      { name: 'package', run: built('package'), fetches: true, seconds: 480 },
      { name: 'knip', run: npm('knip'), seconds: 120 },
      { name: 'users', run: built('users'), seconds: 900 },
      { name: 'processes', run: built('processes'), seconds: 600 },
      { name: 'suite', run: built('suite'), seconds: 900 },
      // A lossy device differs from one that is not when it dies.
      {
        name: 'conformance',
        run: built(
          'conformance',
          '--device',
          'process',
          ...DEAR.split(' ').flatMap((name) => ['--except', name]),
        ),
        seconds: 600,
      },
      {
        name: 'without faults',
        run: built('conformance', '--device', 'simulated', ...scenarios(ON_SIMULATED)),
        seconds: 600,
      },
      {
        name: 'in units',
        run: built('conformance', ...UNIT_KINDS, ...scenarios(IN_UNITS)),
        seconds: 300,
      },
      { name: 'command line', run: built('cli'), seconds: 600 },
      { name: 'browser', run: inBrowser('browser'), fetches: true, seconds: 300 },
      {
        name: 'webgpu conformance',
        run: onSoftwareGpu('conformance', '--device', 'webgpu', ...scenarios(ON_GPU)),
        seconds: 600,
      },
      {
        name: 'webgpu',
        run: onSoftwareGpu('webgpu', '--except', 'dawn-library'),
        env: { ONEMEM_SEED: '1' },
        seconds: 600,
      },
      // All of 'webgpu' and its conformance in `npm run test:long`.
      {
        name: 'webgpu by dawn-ffi',
        run: byDawnFfi(onSoftwareGpu('webgpu', 'dawn-library', 'engine')),
        fetches: true,
        seconds: 300,
      },
      { name: 'wgsl', run: onSoftwareGpu('wgsl', '--seed', '1', '--programs', '4'), seconds: 300 },
      { name: 'wgsl analysis', run: built('wgsl/analysis'), seconds: 300 },
      { name: 'wgsl shapes', run: onSoftwareGpu('wgsl/shapes', '--every', '6'), seconds: 300 },
      { name: 'examples', run: built('examples'), seconds: 600 },
      { name: 'tools', run: built('tools'), fetches: true, seconds: 900 },
      // All are compiled; all are looked for in `npm run test:long`.
      { name: 'mutants', run: built('mutants', '--every', '8', '--jobs', '1'), seconds: 600 },
      { name: 'system faults', run: built('system-faults', '--jobs', '1'), seconds: 600 },
      {
        name: 'hostile calls',
        run: built('hostile', '--seed', '1', '--runs', '160'),
        seconds: 600,
      },
      {
        name: 'model',
        run: built('model', '--seed', '1', '--minutes', '0.1', '--jobs', '1'),
        seconds: 600,
      },
      {
        name: 'node versions',
        run: ['node', 'scripts/node-versions.mjs'],
        fetches: true,
        seconds: 600,
      },
      {
        name: 'simulation',
        run: built('simulation', '--schedules', '100', '--first-seed', '1', '--jobs', '1'),
        seconds: 600,
      },
      { name: 'soak', run: built('soak', '--seed', '1', '--minutes', '0.05'), seconds: 300 },
      {
        name: 'lossy devices',
        run: built('conformance', '--device', 'process-lossy', ...scenarios('device_loss')),
        seconds: 120,
      },
    ],
  ],
  { wanted: process.argv.slice(2) },
);
