/**
 * Spaces with default options in control groups of little memory: each must compute what is right,
 * or refuse with one sentence. The kernel's memory killer (exit code 137) must never end one.
 *
 *   npm run -s containers-test             the whole table, some minutes
 *   npm run -s containers-test -- --some   some of it, for every run of the tests
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npyHeader } from '../../src/files/npy.js';
import { makeGroup } from '../harness/control-group.js';
import { readOptions } from '../harness/options.js';

const LIMITS_MIB = [128, 192, 256, 384, 448, 512, 768, 1024];
const SECONDS = 120;
const RUN_ELEMENTS = 50_000_000;

interface Case {
  readonly name: string;
  /** The command line, after `node`. */
  readonly args: readonly string[];
}

const { values } = readOptions('npm run -s containers-test [-- --some]', {
  options: { some: { type: 'boolean', default: false } },
});

const folder = mkdtempSync(join(tmpdir(), 'onemem-containers-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const program = fileURLToPath(new URL('./programs/filling.js', import.meta.url));
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const filling = (kind: string, deviceMiB: number, hostMemory = 'default'): string[] => [
  program,
  kind,
  String(deviceMiB),
  hostMemory,
  join(folder, 'spill'),
];

const CASES: readonly Case[] = [
  { name: 'no device', args: filling('filled', 0) },
  { name: "no device, 'auto'", args: filling('filled', 0, 'auto') },
  { name: 'device 64 MiB', args: filling('filled', 64) },
  { name: 'device 256 MiB', args: filling('filled', 256) },
  { name: "device 64 MiB, 'auto'", args: filling('filled', 64, 'auto') },
  { name: 'mapped file', args: filling('mapped', 0) },
  {
    name: 'onemem run',
    args: [command, 'run', 'add.mjs', '--in', 'x=x.npy', '--out', 'y=y.npy', '--json'],
  },
];
const SOME: readonly [name: string, limitMiB: number][] = [
  ['device 64 MiB', 256],
  ['device 256 MiB', 256],
];

interface Outcome {
  readonly text: string;
  readonly good: boolean;
}

/** Runs the command in a group of its own. */
async function runIn(limitMiB: number, { name, args }: Case): Promise<Outcome> {
  const group = makeGroup(`containers-${limitMiB}`, limitMiB * 2 ** 20);
  if (group === null) return { text: 'NOT TESTED: no control group can be made', good: true };
  try {
    // The shell joins the group, and becomes the command.
    const join = `echo $$ > ${group.folder}/cgroup.procs && exec "$@"`;
    const child = spawn('sh', ['-c', join, 'sh', process.execPath, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part) => (text += part));
    const limit = setTimeout(() => child.kill('SIGKILL'), SECONDS * 1000);
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done) =>
      child.once('close', (...how) => done(how)),
    );
    clearTimeout(limit);
    if (code === 0) return { text: 'right', good: name === 'onemem run' || text.includes('right') };
    const sentence =
      /the control group of this process is limited to \d+ MiB, and the space needs \d+ MiB/.exec(
        text,
      );
    if (code === 1 && sentence !== null) return { text: `refused: ${sentence[0]}`, good: true };
    return { text: `code ${code}, signal ${signal}: ${text.slice(-300)}`, good: false };
  } finally {
    await removed(group);
  }
}

/** A group goes when its last process has been reaped. */
async function removed(group: { remove(): void }): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      group.remove();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function writeRun(): void {
  const x = new Float32Array(RUN_ELEMENTS).fill(2);
  writeFileSync(
    join(folder, 'x.npy'),
    Buffer.concat([npyHeader('f32', [x.length]), Buffer.from(x.buffer)]),
  );
  const kernel =
    'export default { params: { x: "f32.in", y: "f32.out" }, kernel({ x, y }, { begin, end }) { for (let i = begin; i < end; i++) y[i] = x[i] + 1; } };';
  writeFileSync(join(folder, 'add.mjs'), kernel);
}

let passed = 0;
let failed = 0;
if (!values.some) writeRun();
for (const each of CASES) {
  for (const limitMiB of LIMITS_MIB) {
    if (values.some && !SOME.some(([name, limit]) => name === each.name && limit === limitMiB))
      continue;
    const { text, good } = await runIn(limitMiB, each);
    if (good) passed++;
    else failed++;
    console.log(
      `${good ? 'ok  ' : 'FAIL'} ${each.name.padEnd(24)} ${`${limitMiB} MiB`.padStart(8)}  ${text}`,
    );
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
