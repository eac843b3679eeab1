/**
 * Every figure that is published, a command each. Each bench runs in a process of its own, so that
 * none finds what another left behind: compiled code, threads on a CPU, a heap.
 */
import { spawn } from 'node:child_process';
import { cpus, release, totalmem } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readOptions } from '../test/harness/options.js';
import { bandwidth } from './bandwidth.js';
import { coreFault } from './core-fault.js';
import { cpuFault } from './cpu-fault.js';
import { cpuFaultBlock } from './cpu-fault-block.js';
import { cpuUses } from './cpu-uses.js';
import { deviceFault } from './device-fault.js';
import { evaluation, oversubscribedUvm } from './evaluation.js';
import { faultWhileMoving } from './fault-while-moving.js';
import { faultWhilePlanning } from './fault-while-planning.js';
import { fileRandom, fileScan } from './files.js';
import { fitsCold, fitsWarm } from './fits.js';
import { frames } from './frames.js';
import { gpuFits, gpuGather, gpuHome, gpuLaunches, gpuSearch, gpuStream } from './gpu.js';
import type { Bench, Line } from './harness.js';
import { oversubscribed } from './oversubscribed.js';
import { pageable } from './pageable.js';
import { patternCounts } from './pattern-counts.js';
import { patternsBench } from './patterns.js';
import { picture } from './picture.js';
import { policyTraces } from './policy-traces.js';
import { policyWorkloads } from './policy-workloads.js';
import { processBenches } from './processes.js';
import { pythonBenches } from './python.js';
import { record } from './record.js';
import { remotePage } from './remote-page.js';
import { remoteShare } from './remote-share.js';
import { resident } from './resident.js';
import { run } from './run.js';
import { searchBench } from './search.js';
import { shapesBench } from './shapes.js';
import { launchEmpty, open } from './start.js';
import { storageBenches } from './storage.js';

const benches: readonly Bench[] = [
  coreFault,
  cpuFault,
  cpuFaultBlock,
  cpuUses,
  deviceFault,
  faultWhileMoving,
  faultWhilePlanning,
  patternCounts,
  patternsBench,
  policyTraces,
  policyWorkloads,
  resident,
  fitsCold,
  fitsWarm,
  oversubscribed,
  oversubscribedUvm,
  evaluation,
  record,
  picture,
  bandwidth,
  fileScan,
  fileRandom,
  remotePage,
  remoteShare,
  run,
  searchBench,
  launchEmpty,
  open,
  ...processBenches,
  ...pythonBenches,
  frames,
  pageable,
  gpuFits,
  gpuLaunches,
  gpuStream,
  gpuHome,
  gpuSearch,
  gpuGather,
  shapesBench,
  ...storageBenches,
];

const USAGE = `npm run -s bench -- [NAME ...] [--runs N] [--gpu-memory MIB] [--json | --markdown]
npm run -s bench -- --list   what benches there are

NAME              of a bench, or the beginning of a figure's: cpu-fault, cpu-fault/minor, oversubscribed/triad/1.5x; all unless some are named
--runs N          of each figure; 5 unless said otherwise
--gpu-memory MIB  that a GPU is given; 8 unless said otherwise
--json            an object for each figure
--markdown        a table for each bench`;

const { values, positionals } = readOptions(USAGE, {
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    markdown: { type: 'boolean', default: false },
    runs: { type: 'string', default: '5' },
    'gpu-memory': { type: 'string', default: '8' },
    list: { type: 'boolean', default: false },
    'in-process': { type: 'boolean', default: false },
  },
});
const runs = Number(values.runs);
if (!(Number.isInteger(runs) && runs >= 1)) {
  console.error(`--runs is ${values.runs}; it must be a whole number of 1 or more`);
  process.exit(2);
}
const gpuMemoryMiB = Number(values['gpu-memory']);
if (!(Number.isInteger(gpuMemoryMiB) && gpuMemoryMiB >= 8 && gpuMemoryMiB % 8 === 0)) {
  console.error(`--gpu-memory is ${values['gpu-memory']}; it must be a multiple of 8, in MiB`);
  process.exit(2);
}
for (const name of positionals) {
  if (benches.some((bench) => bench.name === name.split('/')[0])) continue;
  console.error(`no bench '${name}'; there are ${benches.map((bench) => bench.name).join(', ')}`);
  process.exit(2);
}

if (values.list) for (const { name, what } of benches) console.log(`${name.padEnd(16)} ${what}`);
else if (values['in-process']) await runHere(positionals[0]);
else process.exitCode = await runAll();

/** Whether a figure was asked for: by its own name, a beginning of it, or not by name at all. */
function wanted(names: readonly string[], figure: string): boolean {
  return (
    names.length === 0 || names.some((name) => figure === name || figure.startsWith(`${name}/`))
  );
}

async function runHere(name: string): Promise<void> {
  const bench = benches.find((each) => each.name === name.split('/')[0]) as Bench;
  await bench.run({
    runs,
    gpuMemory: gpuMemoryMiB * 2 ** 20,
    wants: (figure) => wanted(positionals, figure),
    report: (line) => process.stdout.write(`${JSON.stringify(line)}\n`),
  });
}

async function runAll(): Promise<number> {
  if (!values.json) {
    const [cpu] = cpus();
    const memory = Math.round(totalmem() / 2 ** 30);
    console.log(
      `# ${cpus().length} x ${cpu?.model}, ${memory} GiB, Linux ${release()}, Node.js ${process.version}`,
    );
  }
  let failed = 0;
  for (const { name } of benches) {
    const names = positionals.filter((each) => each.split('/')[0] === name);
    if (positionals.length > 0 && names.length === 0) continue;
    const code = await runChild(names.length === 0 ? [name] : names);
    if (code === 0) continue;
    failed++;
    console.error(`${name}: failed (${code})`);
  }
  return failed > 0 ? 1 : 0;
}

async function runChild(names: readonly string[]): Promise<number | string> {
  const script = fileURLToPath(import.meta.url);
  const options = ['--runs', String(runs), '--gpu-memory', String(gpuMemoryMiB)];
  const child = spawn(process.execPath, [script, '--in-process', ...options, ...names], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | string>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1)),
  );
  const lines: Line[] = [];
  for await (const text of createInterface(child.stdout)) {
    if (values.json) console.log(text);
    else if (values.markdown) lines.push(JSON.parse(text) as Line);
    else show(JSON.parse(text) as Line);
  }
  if (lines.length > 0) showTable(lines);
  return ended;
}

/** All numbers of the figures, as a table of Markdown. */
function showTable(lines: readonly Line[]): void {
  const [first] = lines;
  const left = ['runs', 'spread'];
  const columns = Object.keys(first).filter(
    (key) => typeof first[key] === 'number' && !left.includes(key),
  );
  const heads = columns.map((key) => {
    if (key === 'ours') return first.unit;
    return key === 'reference' ? String(first['comparedWith'] ?? key) : key;
  });
  const row = (cells: readonly unknown[]): string => `| ${cells.join(' | ')} |`;
  console.log(row(['figure', ...heads]));
  console.log(`|${'---|'.repeat(heads.length + 1)}`);
  for (const line of lines) console.log(row([line.name, ...columns.map((key) => line[key] ?? '')]));
  console.log();
}

function show(line: Line): void {
  const { name, ours, reference, ratio, unit, runs: count, spread, comparedWith, ...rest } = line;
  const against =
    reference === null ? '' : `${String(comparedWith)} ${reference} ${unit}, ${ratio?.toFixed(2)}x`;
  const shown = Object.entries(rest).map(
    ([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  console.log(
    `${name.padEnd(34)} ${`${ours} ${unit}`.padEnd(14)} ${against.padEnd(34)} ${count} runs, spread ${Math.round(spread * 100)}%`,
  );
  if (shown.length > 0) console.log(`${' '.repeat(35)}${shown.join(', ')}`);
}
