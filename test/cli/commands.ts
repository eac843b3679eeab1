/** Help, versions, doctor, demo and replay. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { COMMANDS_SECONDS, Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

longTest('help of the command and of each of its commands, with examples', async () => {
  using folder = new Folder();
  for (const args of [['--help'], ['-h'], ['help'], []]) {
    const { stdout, stderr } = await folder.succeed(...args);
    for (const command of [
      'run',
      'demo',
      'explain',
      'view',
      'replay',
      'doctor',
      'bandwidth',
      'gpu',
    ])
      assert.match(stdout, new RegExp(`onemem ${command} `));
    assert.match(stdout, /Examples/);
    assert.equal(stderr, '');
  }
  for (const [index, command] of [
    'run',
    'demo',
    'explain',
    'view',
    'replay',
    'doctor',
    'gpu',
  ].entries()) {
    const { stdout } = await folder.succeed(
      ...(index % 2 === 0 ? ['help', command] : [command, '--help']),
    );
    assert.match(stdout, /^Examples\n {2}onemem /m);
    for (const line of stdout.split('\n'))
      assert.ok(line.length <= 100, `too long for a terminal: ${line}`);
  }
});

test('the version is that of the package', async () => {
  using folder = new Folder();
  const { version } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  ) as {
    version: string;
  };
  assert.equal((await folder.succeed('--version')).stdout, `${version}\n`);
});

longTest('a command line that cannot be understood ends with 2', async () => {
  using folder = new Folder();
  await folder.fail(
    2,
    /no command 'frob'; commands are run, demo, explain, view, replay, doctor, bandwidth, serve, rm, ls, top, gpu/,
    'frob',
  );
  await folder.fail(2, /no option '--frob'/, '--frob');
  await folder.fail(2, /'--frob'; see: onemem run --help/, 'run', '--frob');
});

test('options and arguments that a command does not have', async () => {
  using folder = new Folder();
  for (const command of ['run', 'demo', 'explain', 'view', 'replay', 'doctor'] as const) {
    await folder.refuse(
      2,
      new RegExp(`'--frob'; see: onemem ${command} --help`),
      command,
      '--frob',
    );
  }
  await folder.refuse(2, /takes no arguments/, 'demo', 'x');
  await folder.refuse(2, /takes no arguments/, 'doctor', 'x');
  await folder.refuse(2, /takes one file/, 'replay');
  await folder.refuse(1, /none\.rec: there is no such file/, 'replay', 'none.rec');
});

test('eviction policies are compared on a trace of block numbers', async () => {
  using folder = new Folder();
  const loop = Array.from({ length: 1000 }, (_, at) => `${at % 100}`);
  folder.write('loop.txt', `${loop.join('\n')}\n`);
  const args = ['replay', 'loop.txt', '--policy', 'lru,lirs', '--oversubscription', '1.25'];
  const { stdout } = await folder.succeed(...args, '--json');
  const [row] = JSON.parse(stdout) as {
    optimum: number;
    policies: { policy: string; misses: number }[];
  }[];
  assert.equal(row.policies[0].misses, 1000);
  assert.ok(row.policies[1].misses < 500);
  assert.ok(row.optimum <= row.policies[1].misses);
  await folder.succeed(...args, '--html', 'compared.html');
  const page = folder.read('compared.html').toString();
  assert.match(page, /<tr><td>optimum<\/td><td>\d+<\/td><td>1\.00<\/td>/);
  assert.match(page, /<tr><td>lru<\/td><td>1,000<\/td><td>\d\.\d\d<\/td>/);
  assert.doesNotMatch(page, /https?:|src=|<script/);
  const csv = (await folder.succeed(...args, '--csv')).stdout.split('\n');
  assert.equal(
    csv[1],
    'loop.txt,167772160,80,1000,100,lru,1000,' + (1000 / row.optimum).toFixed(4),
  );
  assert.match(
    (await folder.succeed(...args)).stdout,
    /loop\.txt: 1,000 uses of 100 blocks of 2 MiB/,
  );
});

test('a comparison of policies that cannot be understood', async () => {
  using folder = new Folder();
  folder.write('loop.txt', '1\n2\nx\n');
  const refuse = (code: number, message: RegExp, ...args: string[]) =>
    folder.refuse(code, message, 'replay', 'loop.txt', ...args);
  await refuse(
    2,
    /--policy: there is no policy 'best'; there are plan, tournament, lru/,
    '--policy',
    'best',
  );
  await refuse(2, /--csv goes with --policy/, '--csv');
  await refuse(1, /loop\.txt, line 3 is no block number: x/, '--policy', 'lru');
  await refuse(2, /--oversubscription is '0'/, '--policy', 'lru', '--oversubscription', '0');
  await refuse(1, /loop\.txt is no recording/);
  folder.write('empty.txt', '\n');
  await folder.refuse(1, /empty\.txt is empty/, 'replay', 'empty.txt', '--policy', 'lru');
});

test('sizes of memory that are the same for a short trace are told once', async () => {
  using folder = new Folder();
  folder.write('short.txt', '# two blocks\n1\n2\n1\n');
  const { stdout } = await folder.succeed('replay', 'short.txt', '--policy', 'lru', '--json');
  assert.deepEqual(
    JSON.parse(stdout).map(({ roomBlocks }: { roomBlocks: number }) => roomBlocks),
    [1],
  );
});

const MOST_RECENT = `
export default function mostRecent() {
  const blocks = new Set();
  const use = (block) => { blocks.delete(block); blocks.add(block); };
  return {
    activate: use, used: use,
    evict: (may) => [...blocks].reverse().find(may) ?? -1,
    deactivate: (block) => blocks.delete(block),
  };
}
export const bad = () => ({ ...mostRecent(), evict: () => 7000 });
export const none = 1;
export const half = () => ({ activate() {} });
`;

test('a policy of a module of the user is compared, and a bad one is named', async () => {
  using folder = new Folder();
  folder.write('loop.txt', `${Array.from({ length: 50 }, (_, at) => at % 5).join('\n')}\n`);
  folder.write('mine.mjs', MOST_RECENT);
  const args = ['loop.txt', '--oversubscription', '1.25', '--policy'];
  const { stdout } = await folder.succeed('replay', ...args, 'lru,./mine.mjs', '--json');
  const [{ optimum, policies }] = JSON.parse(stdout);
  assert.deepEqual(policies[0], { policy: 'lru', misses: 50, overOptimum: 50 / optimum });
  // What was used last is not needed for longest: this is the optimum of a loop.
  assert.deepEqual(policies[1], { policy: 'mine.mjs', misses: optimum, overOptimum: 1 });
  const refuse = (message: RegExp, policy: string) =>
    folder.refuse(1, message, 'replay', ...args, policy);
  await refuse(/#bad: the policy evicts block 7000, which is not here/, './mine.mjs#bad');
  await refuse(/#none: its export 'none' is no function/, './mine.mjs#none');
  await refuse(/what the module made has no function used/, './mine.mjs#half');
  await refuse(/none\.mjs: there is no such file/, './none.mjs');
});

test('policies are compared by time on machines of the package and of the user', async () => {
  using folder = new Folder();
  folder.write('loop.txt', `${Array.from({ length: 300 }, (_, at) => at % 3).join('\n')}\n`);
  // A block of 1 MiB takes 1 ms and the latency another one.
  const link = { inGBs: 1.048576, outGBs: 1, duplex: 'half', latencyUs: 1000 };
  folder.write('slow.json', JSON.stringify({ ...link, granularityBytes: 1 }));
  const args = ['replay', 'loop.txt', '--policy', 'lru', '--oversubscription', '1.5'];
  const on = ['--block', '1MiB', '--machine', './slow.json,pcie4', '--json'];
  const [{ machines }] = JSON.parse((await folder.succeed(...args, ...on)).stdout) as {
    machines: { machine: string; leastMs: number; policies: { ms: number }[] }[];
  }[];
  assert.deepEqual(
    machines.map(({ machine }) => machine),
    ['slow', 'pcie4'],
  );
  assert.equal(machines[0].policies[0].ms.toFixed(6), '600.000000');
  assert.equal(machines[0].leastMs.toFixed(6), '3.000000');
});

test('a machine that cannot be understood', async () => {
  using folder = new Folder();
  folder.write('loop.txt', '1\n2\n');
  folder.write('bad.json', '{ "inGBs": "fast" }');
  const refuse = (code: number, message: RegExp, machine: string) =>
    folder.refuse(code, message, 'replay', 'loop.txt', '--policy', 'lru', '--machine', machine);
  await refuse(2, /no machine 'pcie9'; there are cxl, net100, nvlink-c2c, nvme, pcie4/, 'pcie9');
  await refuse(1, /none\.json: there is no such file/, 'none.json');
  await refuse(1, /bad\.json describes no machine: inGBs is "fast"; it must be/, './bad.json');
  await refuse(2, /two machines of the name 'cxl'/, 'cxl,cxl');
});

test('what a run cannot understand of its command line', async () => {
  using folder = new Folder();
  folder.write('k.js', 'export default { params: {}, kernel() {} };');
  const refuse = (message: RegExp, ...args: string[]) => folder.refuse(2, message, 'run', ...args);
  await refuse(/no kernel file is named/);
  await refuse(/too many arguments: k\.js l\.js/, 'k.js', 'l.js');
  await refuse(/--in is 'x'; write --in NAME=FILE/, 'k.js', '--in', 'x');
  await refuse(/--set is '=3'; write --set NAME=NUMBER/, 'k.js', '--set', '=3');
  await refuse(/--in names x twice/, 'k.js', '--in', 'x=a', '--in', 'x=b');
  await refuse(/--size .*argument missing/, 'k.js', '--size');
  for (const size of ['0', '1.5', 'x', '9e99']) {
    await refuse(/--size is '.*'; it must be a whole number of 1 or more/, 'k.js', '--size', size);
  }
  await refuse(
    /--chunks is '65537'; it must be a whole number from 1 to 65536/,
    'k.js',
    '--chunks',
    '65537',
  );
  await refuse(/--device-memory: "64Mib2" is no size/, 'k.js', '--device-memory', '64Mib2');
  await refuse(
    /--in has no value; write --in=VALUE where that begins with -/,
    'k.js',
    '--in',
    '--inout',
    'x=a',
  );
  await refuse(
    /--device is 'gpu'; there are process, simulated and webgpu/,
    'k.js',
    '--device',
    'gpu',
  );
  await refuse(/'f16' is no element type of a file/, 'k.js', '--in', 'x=a.bin:f16');
  await refuse(/add --size N/, 'k.js');
});

const LIMITS: readonly (readonly [string, string, RegExp])[] = [
  ['--size', '-1', /--size is '-1'; it must be a whole number of 1 or more/],
  ['--chunks', '-1', /--chunks is '-1'; it must be a whole number from 1 to 65536/],
  ['--units', '65', /--units is '65'; it must be a whole number from 1 to 64/],
  ['--set', '-1', /--set is '-1'; write --set NAME=NUMBER/],
  ['--device-memory', '-1', /--device-memory: "-1" is no size \(it is negative\)/],
  [
    '--device-memory',
    '0',
    /--device-memory is '0'; it must be 4MiB or more, 2 MiB for the unit that waits/,
  ],
  ['--host-memory', '1MiB', /--host-memory is '1MiB'; it must be 32MiB or more/],
  ['--storage', '/tmp:-5', /--storage: "-5" is no size \(it is negative\)/],
  ['--storage', '/tmp:1KiB', /--storage is '1KiB'; it must be 2MiB or more/],
  [
    '--slow-memory',
    'size=1GiB',
    /--slow-memory: 'size=1GiB' is none of path=, node=, bytes=, latencyUs=, bandwidth=/,
  ],
  ['--behind-memory', '5', /--behind-memory is '5'; it must be 2MiB or more/],
];

test('numbers that an option does not take are told with the option and what it takes', async () => {
  using folder = new Folder();
  folder.write('k.js', 'export default { params: {}, kernel() {} };');
  for (const [option, value, message] of LIMITS)
    await folder.refuse(2, message, 'run', 'k.js', option, value);
  await folder.refuse(
    2,
    /--device-memory is '1KiB'; it must be 4MiB or more/,
    'demo',
    '--device-memory',
    '1KiB',
  );
});

test('bandwidth measures each way of bytes to a device, and says which ones there are not', async () => {
  using folder = new Folder();
  const options = ['--device', 'process', '--size', '2MiB', '--passes', '1', '--json'];
  const { stdout } = await folder.succeed('bandwidth', ...options);
  const { bytes, memcpyBytesPerSecond, devices } = JSON.parse(stdout) as Bandwidth;
  assert.ok(bytes === 2 ** 21 && memcpyBytesPerSecond > 0);
  const [{ kind, copies }] = devices;
  assert.equal(kind, 'process');
  const [there, back] = ['host to device', 'device to host'];
  assert.deepEqual(
    copies.map(({ memory, direction }) => [memory, direction]),
    [
      ...['pageable', 'pinned', 'mapped'].flatMap((each) => [
        [each, there],
        [each, back],
      ]),
      ['write-combined', there],
      ['managed', there],
      ['managed', back],
      ['device', 'device to device'],
    ],
  );
  for (const { memory, bytesPerSecond, missing } of copies)
    if (memory === 'write-combined') assert.match(missing ?? '', /by a copy of its own/);
    else assert.ok(bytesPerSecond !== null && bytesPerSecond > 0, stdout);
  await folder.fail(2, /--device is 'fpga'; there are process/, 'bandwidth', '--device', 'fpga');
});

interface Bandwidth {
  readonly bytes: number;
  readonly memcpyBytesPerSecond: number;
  readonly devices: readonly {
    readonly kind: string;
    readonly problem: string | null;
    readonly copies: readonly {
      readonly memory: string;
      readonly direction: string;
      readonly bytesPerSecond: number | null;
      readonly missing: string | null;
    }[];
  }[];
}

longTest('doctor lists features with remedies, and as JSON', async () => {
  using folder = new Folder();
  const { stdout } = await folder.succeed('doctor');
  assert.match(stdout, /^onemem works here \(Node.js \d+\.\d+\.\d+, \w+\)\.\n/);
  assert.match(stdout, /^ok +userfaultfd +\S/m);
  assert.match(stdout, /hostMemory: 'auto' +begins with \d+\.\d GiB, and follows what is left/);
  for (const line of stdout.split('\n'))
    if (/^(absent|MISSING)/.test(line)) assert.match(stdout, /remedy: \S/);
  const report = JSON.parse((await folder.succeed('doctor', '--json')).stdout) as {
    usable: boolean;
    features: { name: string; available: boolean; remedy: string | null }[];
  };
  assert.equal(report.usable, true);
  for (const { available, remedy } of report.features) assert.equal(available, remedy === null);
});

longTest('demo runs the flights on a small device, and finds every bit right', async () => {
  using folder = new Folder();
  const { stdout } = await folder.succeed('demo');
  assert.match(
    stdout,
    /^3,000,000 flights: 143 MiB of arrays on a device that has 32 MiB of memory\.$/m,
  );
  assert.match(stdout, /^The result is right: every bit of 9,000,000 values/m);
});

longTest('demo goes through nine arrays on a device that has room for two blocks', async () => {
  using folder = new Folder();
  const { stdout } = await folder.succeed('demo', '--device-memory', '4MiB', '--json');
  const { correct, processors } = JSON.parse(stdout);
  assert.equal(correct, true);
  assert.ok(processors[1].faults < 5000, `${processors[1].faults} faults`);
});

longTest(
  'a demo on a smaller device that was recorded is played again command by command',
  async () => {
    using folder = new Folder({ ONEMEM_RECORD: 'demo.rec' });
    await folder.succeed('demo', '--device-memory', '24MiB');
    const { stdout: told } = await folder.succeed('replay', 'demo.rec');
    assert.match(
      told,
      /^\d{3,} events \(most of them: .*\b\d+ fault.*\) and \d{3,} commands: the same as recorded\n$/,
    );
  },
);

longTest('demo --json tells a program what it found, and what was moved', async () => {
  using folder = new Folder();
  const report = JSON.parse((await folder.succeed('demo', '--json')).stdout) as {
    correct: boolean;
    bytes: number;
    deviceBytes: number;
    processors: { kind: string; peakBytes: number; budgetBytes: number; evictions: number }[];
    findings: { directions: { flights: number }[] };
  };
  const [, device] = report.processors;
  assert.equal(report.correct, true);
  assert.ok(report.bytes > 4 * report.deviceBytes);
  assert.ok(
    device.evictions > 0 &&
      device.peakBytes <= device.budgetBytes &&
      device.budgetBytes === 32 * 2 ** 20,
  );
  assert.equal(
    report.findings.directions.reduce((sum, each) => sum + each.flights, 0),
    3_000_000,
  );
});

test('a reader that stops reading is no failure', async () => {
  using folder = new Folder();
  const running = folder.start('run', '--help');
  running.closeOutput();
  const { code, stderr } = await running.ended;
  assert.equal(stderr, '');
  assert.equal(code, 0);
});

await runTests(COMMANDS_SECONDS);
