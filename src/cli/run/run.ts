/** `onemem run`: a kernel over files that may be larger than the device. */

import { statSync } from 'node:fs';
import { takesParts } from '../../api/kernels/wgsl-kernel.js';
import {
  type AddressSpace,
  type Device,
  type DeviceSpecification,
  type ManagedArray,
  OnememError,
  openSpace,
} from '../../index.js';
import type { Command } from '../terminal/command.js';
import { CommandError, codeOf, explain } from '../terminal/failure.js';
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js';
import { endOnSignals } from '../terminal/interrupt.js';
import { print, say } from '../terminal/output.js';
import { createProgress } from '../terminal/progress.js';
import { linesOfStack } from './kernel-file.js';
import { launchInParts, partsOf } from './launch.js';
import { faultsOf, type ProcessorReport, processorReports, processorTable } from './report.js';
import { makeArrays, resultsOf } from './run-arrays.js';
import { ResultFiles } from './run-files.js';
import { type Job, jobOf } from './run-job.js';
import { type Plan, parsePlan, RUN_HELP, RUN_SUMMARY, USUAL_MEMORY } from './run-plan.js';

export interface RunReport {
  readonly kernel: string;
  readonly size: number;
  readonly launches: number;
  /** From the start of the command's work to the last file that was put in place. */
  readonly wallMs: number;
  /** Of it, the launches. */
  readonly launchMs: number;
  readonly processors: readonly ProcessorReport[];
  readonly results: readonly { parameter: string; file: string; bytes: number }[];
}

export async function run(args: readonly string[]): Promise<number> {
  const plan = parsePlan(args);
  const report = await carryOut(plan);
  if (plan.json) print(JSON.stringify(report));
  else print(describe(report).join('\n'));
  return 0;
}

function openFor(plan: Plan): Promise<AddressSpace> {
  const { device, hostMemory, slowMemory, storage, behind, record } = plan;
  // The space of this command is the first of its process.
  if (record !== undefined) process.env.ONEMEM_RECORD = record;
  const open = (wanted: DeviceSpecification) =>
    openSpace({ devices: [wanted], hostMemory, slowMemory, storage, behind });
  if (device.memory !== undefined) return open(device);
  return open(device).catch((error: unknown) => {
    if (codeOf(error) !== 'DEVICE_MEMORY') throw error;
    return open({ ...device, memory: USUAL_MEMORY } as DeviceSpecification);
  });
}

async function carryOut(plan: Plan): Promise<RunReport> {
  const started = performance.now();
  const job = await jobOf(plan);
  using results = new ResultFiles();
  using _signals = endOnSignals(() => results.giveUp());
  for (const result of resultsOf(plan, job)) results.create(result);
  results.checkRoom();
  await using _filling = { [Symbol.asyncDispose]: () => results.stopFilling() };
  // The space opens meanwhile.
  results.fill();
  await using space = await openFor(plan).catch((error: unknown) => {
    throw new CommandError('OPEN', explain(error), { cause: error });
  });
  if (plan.ui) say(`the live picture of the run is at ${(await space.serve()).url}`);
  const arrays = makeArrays(space, plan, job, results);
  await results.filled();
  const launched = await launch(space.devices[0], plan, job, arrays, results);
  return {
    kernel: job.kernel.name,
    size: job.size,
    ...launched,
    wallMs: performance.now() - started,
    processors: processorReports(space.stats()),
    results: results.written,
  };
}

/** Launches the kernel, and writes the results. */
async function launch(
  device: Device,
  { chunks, isMapped, json: silent }: Plan,
  { kernel, inputs, extent, size, numbers }: Job,
  arrays: Readonly<Record<string, ManagedArray>>,
  results: ResultFiles,
): Promise<Pick<RunReport, 'launches' | 'launchMs'>> {
  // A module that is not told which part it is to do does all of it.
  const inParts =
    device.capabilities.kernels === 'functions' ||
    (kernel.wgsl !== null && takesParts(kernel.wgsl));
  const parts = partsOf(size, inParts && typeof extent === 'number' ? chunks : 1);
  const started = performance.now();
  using progress = createProgress({ label: kernel.name, total: size, silent });
  const detail = (): string => `${formatCount(faultsOf(device.stats()))} faults`;
  const onProgress = (done: number): void => progress.update(done, detail);
  try {
    const args = { ...numbers, ...arrays };
    await launchInParts(device, kernel, args, { size: extent, parts, onProgress });
  } catch (error) {
    refuseCut(inputs);
    throw launchFailure(error, isMapped);
  }
  refuseCut(inputs);
  const launchMs = performance.now() - started;
  await results.write((path) => progress.update(size, () => `writing ${path}`));
  return { launches: parts.length, launchMs };
}

/** What a mapping shows behind the end of a file, up to the next page, reads as zeros. */
function refuseCut(inputs: Job['inputs']): void {
  for (const { path, dev, ino, dataOffset, byteLength } of inputs.values()) {
    const now = statSync(path, { throwIfNoEntry: false });
    const end = dataOffset + byteLength;
    if (now === undefined || now.dev !== dev || now.ino !== ino || now.size >= end) continue;
    const what = `${path} became shorter during the run: it has ${now.size} bytes, and its elements end at ${end}`;
    throw new CommandError('FILE_CHANGED', `${what}; no file was changed`);
  }
}

function launchFailure(error: unknown, isMapped: boolean): unknown {
  if (!(error instanceof OnememError)) return error;
  if (error.code === 'DEVICE_LOST') {
    const crash = isMapped
      ? ', or crashed: if the kernel wrote to an --in, --paged tells where'
      : ', or crashed';
    return new CommandError(
      'DEVICE_LOST',
      `device ${error.details.device ?? ''} ended before the work was done (its process was killed${crash}); ` +
        'no file was changed: run it again',
      { cause: error },
    );
  }
  return error.code === 'KERNEL_ERROR'
    ? new CommandError(error.code, error.message, { trace: linesOfStack(error), cause: error })
    : error;
}

function describe(report: RunReport): string[] {
  const { size, launches, wallMs, launchMs, processors, results } = report;
  return [
    `${formatCount(size)} work items in ${formatDuration(wallMs)} (${launches} launches: ${formatDuration(launchMs)})`,
    ...processorTable(processors).map((line) => `  ${line}`),
    ...results.map(({ parameter, file, bytes }) => `${parameter}: ${file} (${formatBytes(bytes)})`),
  ];
}

export const command: Command = { summary: RUN_SUMMARY, help: RUN_HELP, main: run };
