// The directions in which the parts of src/ may depend on each other
// (docs/internals/architecture.md has the picture):
//
//   core <- policy <- pager <- api <- cli        drivers and linux are seen by the pager, files by the api
//
// Unit tests are free to import test tools, so rules about packages and node: modules leave them
// out.

const tests = '\\.test\\.ts$';

/** Files under `folder` import only what matches one of `allowed`. */
const only = (folder, allowed, comment) => ({
  name: `${folder.replaceAll('/', '-')}-imports`,
  comment,
  severity: 'error',
  from: { path: `^src/${folder}/`, pathNot: tests },
  to: { pathNot: allowed },
});

// The rooms of the larger parts, lowest first: each knows those before it. Files of one room may
// know each other, and files beside the rooms know all of them.
const rooms = {
  core: ['basics', 'table', 'pattern', 'queries', 'movement', 'service', 'recording'],
  pager: [
    'protocol',
    'core',
    'sources',
    'host',
    'arrays',
    'devices',
    'transfers',
    'attached',
    'streams',
    'manager',
  ],
  api: [
    'values',
    'line',
    'kernels',
    'arrays',
    'launches',
    'options',
    'endings',
    'objects',
    'opening',
    'threads',
  ],
  'pager/arrays': ['clones', 'table', 'room', 'modules', 'shared'],
  'api/arrays': ['parts', 'bytes', 'files', 'changes'],
  linux: ['base', 'sockets', 'processes', 'threads', 'memory', 'files'],
  wgsl: ['reading', 'analysis', 'dividing', 'rewriting'],
  'drivers/webgpu': ['link', 'gpu', 'engine', 'memory', 'launches'],
  trace: ['recording', 'activity', 'report', 'picture'],
  cli: ['terminal', 'run', 'demo', 'history', 'spaces', 'doctor'],
};
const roomRules = Object.entries(rooms).flatMap(([part, names]) =>
  names.slice(0, -1).map((room, at) => ({
    name: `${part.replaceAll('/', '-')}-${room}-looks-down`,
    comment: `The room ${room} of ${part} does not know those above it.`,
    severity: 'error',
    from: { path: `^src/${part}/${room}/`, pathNot: tests },
    to: { path: `^src/${part}/(${names.slice(at + 1).join('|')})/` },
  })),
);

module.exports = {
  forbidden: [
    only(
      'core',
      ['^src/core/'],
      'The core is sans-I/O and deterministic: no node: module, no package, no other part.',
    ),
    only(
      'coherence',
      ['^src/coherence/'],
      'The protocol of shared arrays is pure, so that all its states can be looked at.',
    ),
    only(
      'sharing',
      ['^src/(sharing|coherence|valkey)/', '^src/linux/memory/checksum'],
      'The protocol of shared arrays as a Valkey server takes it.',
    ),
    only('cpus', ['^src/(cpus|linux)/', '^fs$'], 'Where threads run, whatever they are for.'),
    only('policy', ['^src/(core|messages|policy)/'], 'Policies are plain functions over the core.'),
    only(
      'wgsl',
      ['^src/wgsl/', '(^|/)wesl/'],
      'The analysis of WGSL is pure: source in, plans out; no node: module and no device.',
    ),
    only('trace', ['^src/core/', '^src/trace/'], 'The record format knows the core only.'),
    only(
      'sim',
      [
        '^src/(core|messages)/',
        '^src/policy/',
        '^src/trace/',
        '^src/sim/',
        '^src/drivers/(simulated|toolkit)/',
        '^src/drivers/driver\\.ts$',
      ],
      'A replay runs on a virtual clock and must not reach the real machine.',
    ),
    only(
      'drivers/simulated',
      ['^src/(core|messages)/', '^src/drivers/(simulated|toolkit)/', '^src/drivers/driver\\.ts$'],
      'The simulated device lives in memory: it runs wherever the core runs.',
    ),
    only(
      'drivers/toolkit',
      ['^src/(core|messages)/', '^src/drivers/toolkit/', '^src/drivers/driver\\.ts$'],
      'The parts of drivers know the contract, and no driver.',
    ),
    only('messages', ['^src/messages/'], 'Words of errors stand below everything else.'),
    {
      name: 'linux-imports',
      comment: 'The system calls stand below everything else.',
      severity: 'error',
      from: { path: '^src/linux/', pathNot: tests },
      to: { path: '^src/', pathNot: '^src/linux/' },
    },
    {
      name: 'valkey-imports',
      comment:
        'The client of Valkey servers stands below everything else, beside the system calls.',
      severity: 'error',
      from: { path: '^src/valkey/', pathNot: tests },
      to: { path: '^src/', pathNot: '^src/valkey/' },
    },
    {
      name: 'who-sees-valkey',
      comment:
        'The pager connects to servers; the api knows what a URL of one is, and asks before it opens a space.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(pager|sharing|valkey)/', tests] },
      to: { path: '^src/valkey/', pathNot: '^src/valkey/(address|check|connection|errors)\\.ts$' },
    },
    {
      name: 'live-imports',
      comment: 'The live picture reads moves. The api starts it, and the command writes its page.',
      severity: 'error',
      from: { path: '^src/live/', pathNot: tests },
      to: { path: '^src/', pathNot: '^src/(live|trace|pager/protocol|core/basics)/' },
    },
    {
      name: 'files-imports',
      comment:
        'Forms of files are read and written by Node.js; they know elements, locks, what the core did, and nothing of who uses them.',
      severity: 'error',
      from: { path: '^src/files/', pathNot: tests },
      to: {
        path: '^src/',
        pathNot: '^src/((files|core|messages|policy)/|linux/(files/file-io|processes/kill))',
      },
    },
    {
      name: 'who-sees-files',
      comment:
        'The api and the command; the manager serves bytes, whatever their form, and writes nothing down but its own run.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: ['^src/(files|api|cli)/', '^src/pager/core/(core|move-records)\\.ts$'],
      },
      to: { path: '^src/files/' },
    },
    {
      name: 'drivers-look-down',
      comment: 'A driver knows the core, the system calls and what WGSL says, not who uses it.',
      severity: 'error',
      from: { path: '^src/drivers/' },
      to: { path: '^src/', pathNot: '^src/(drivers|core|messages|cpus|linux|wgsl)/' },
    },
    {
      name: 'testing-imports',
      comment:
        'The conformance suite uses the package as its users do. Its broken driver wraps the simulated one.',
      severity: 'error',
      from: { path: '^src/testing/', pathNot: tests },
      to: {
        path: '^src/',
        pathNot: ['^src/(testing|policy)/', '^src/index\\.ts$', '^src/drivers/(index|simulated/)'],
      },
    },
    {
      name: 'nothing-imports-testing',
      comment: 'The suite is for those who ask for it.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/testing/' },
      to: { path: '^src/testing/' },
    },
    {
      name: 'who-sees-drivers',
      comment:
        'Devices are seen by the pager alone; the simulator has the simulated one. The api knows the form of a launch.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(pager|drivers|sim|api|testing)/', tests] },
      to: { path: '^src/drivers/' },
    },
    {
      name: 'who-sees-kinds-of-devices',
      comment:
        'What one kind of device needs lies in its folder: the manager knows one file with a table of them, and the words of a GPU that it is told. A replay and the suite wrap the simulated device; the program lends a GPU and reads WGSL.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/drivers/',
          '^src/pager/devices/drivers\\.ts$',
          '^src/pager/protocol/space\\.ts$',
          '^src/(api|sim)/',
          '^src/testing/broken-driver\\.ts$',
          tests,
        ],
      },
      to: { path: '^src/drivers/(process|simulated|webgpu)/' },
    },
    {
      name: 'api-sees-driver-types',
      comment:
        'The api describes launches; it never holds a driver. To compare a kernel, it loads its module as drivers do, and what reads WGSL; a GPU of the program is driven in the thread of the program.',
      severity: 'error',
      from: { path: '^src/api/', pathNot: tests },
      to: {
        path: '^src/drivers/',
        pathNot: '^src/drivers/(kernel-loader|webgpu/(lender|launches/parser))\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'who-sees-linux',
      comment:
        'System calls are for the pager, the drivers and the placement of threads; api makes views with them, doctor asks what works, the command has a second Ctrl-C end it, results are locked while they are written, and machines that share an array compare checksums.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/(pager|drivers|cpus|linux|api)/',
          '^src/cli/(doctor/|terminal/interrupt\\.ts$)',
          '^src/files/leftovers\\.ts$',
          '^src/sharing/steps\\.ts$',
          tests,
        ],
      },
      to: { path: '^src/linux/', pathNot: '^src/linux/own-files\\.ts$' },
    },
    {
      name: 'koffi-only-in-linux',
      comment: 'One folder knows the foreign function interface.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/linux/' },
      to: { path: '(^|/)(koffi|@koromix)(/|$)' },
    },
    {
      name: 'api-sees-core-types',
      comment:
        'The core lives in the manager; elsewhere an instance of it would be a second truth.',
      severity: 'error',
      from: { path: '^src/api/', pathNot: tests },
      // Constants, element types and views hold no state of the manager's.
      to: {
        path: '^src/core/',
        pathNot: '^src/core/basics/(types|elements|address-view)[.]ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'pager-looks-down',
      comment: 'The manager does not know who calls it.',
      severity: 'error',
      from: { path: '^src/pager/' },
      to: { path: '^src/(api|cli|sim)/' },
    },
    {
      name: 'nothing-imports-cli',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'no-cycles',
      comment:
        'A cycle of values decides by import order what is defined; one of types makes one large file of many small ones. What two files ' +
        'need of each other is an interface below both, as those of what users hold (src/api/public.ts).',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...roomRules,
    {
      name: 'only-tests-look-inside-the-core',
      comment:
        'What is in the core is known by queries. What its tests are put together from is theirs alone.',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, '^src/core/test-parts\\.ts$'] },
      to: { path: '^src/core/(test-manager|test-parts)\\.ts$' },
    },
    {
      name: 'api-sees-the-protocol',
      comment:
        'A client knows what is said to the manager, and nothing of how the manager does it.',
      severity: 'error',
      from: { path: '^src/(api|cli|index)', pathNot: tests },
      to: { path: '^src/pager/', pathNot: '^src/pager/protocol/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-development-package-at-run-time',
      comment:
        'The demonstration alone uses data that the package does not bring along, and says so where they are missing.',
      severity: 'error',
      from: { path: '^src/', pathNot: [tests, '^src/cli/demo/demo-data\\.ts$'] },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only', 'npm-peer'],
      },
    },
  ],
  options: {
    // With the imports of types, which the compiler leaves out.
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
