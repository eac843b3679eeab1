/** A launch: what is known of it, and what its stream is told of its end. */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import type { LaunchRefusal } from '../../drivers/process-driver.js';
import type { LaunchDivision } from '../../drivers/wgsl-launch.js';
import type { QueuedTime } from '../../linux/threads/queued-time.js';
import type { Arrays } from '../arrays/arrays.js';
import type { SharedUse } from '../arrays/shared/shared-uses.js';
import type { OperationDone, StreamOperation } from '../protocol/operations.js';
import { abortError, type WireError, wireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import type { GatherPlan, LaunchPart } from './gather-plans.js';
import type { NamedArgument } from './launch-arguments.js';
import type { PageSupply } from './page-supply.js';

export type LaunchOperation = Extract<StreamOperation, { kind: 'launch' }>;

/** Whether it does all work items of its kernel, and not those from one to another. */
export function isWhole({ begin, end, size, indirect }: LaunchOperation): boolean {
  return indirect !== undefined || (begin === 0 && end === size);
}

/** The launches of a device, in the order in which they came: the first is under way. */
export class LaunchQueue {
  readonly launches: Launch[] = [];
  /** Streams hear of ends and hand in what comes next: it begins when all is there. */
  isTelling = false;
  /** Called when no launch is left. */
  readonly onIdle: (() => void)[] = [];

  constructor(readonly device: Device) {}
}

/** How the device has a launch: as a whole, with others, or in parts since it has no room for it. */
export type Work =
  | {
      readonly kind: 'whole';
      /** Launches that go to the device with it; null: none. */
      joined: Joined | null;
      /** Brings the pages that its indices name, part by part; null: they come as touched. */
      plan: GatherPlan | null;
    }
  | {
      readonly kind: 'parts';
      readonly division: LaunchDivision;
      /** Memory on the device for pages of arrays that its parts do not have as a whole. */
      readonly supply: PageSupply | null;
      /** Which part is brought or runs. */
      part: number;
    };

/** What the driver gets next of it. */
export interface Handed extends LaunchPart {
  readonly parameters: readonly LaunchParameter[];
}

export class Launch {
  /**
   * `doomed`: its turn has come, and its device was killed, but is not known to be dead yet.
   * `begun`: the core has been told, and the device may have touched its arrays. `running`: its
   * driver has it, or a part of it. `completed`: its kernel has come to its end, on all units.
   */
  state: 'waiting' | 'doomed' | 'begun' | 'running' | 'completed' = 'waiting';
  failure: WireError | null = null;
  /** Why it is being ended, before its time. */
  ending: Ending | null = null;
  /** When it will have run for too long, on the manager's clock. */
  timeoutAt = Number.POSITIVE_INFINITY;
  /** When its device counts as one that cannot end it. */
  endBy = Number.POSITIVE_INFINITY;
  /** What its device's process waits for processors meanwhile. */
  queued: Pick<QueuedTime, 'takeMs'> | null = null;
  args: readonly NamedArgument[] = [];
  /** What it holds of arrays that other machines have. */
  sharedUse: SharedUse | null = null;
  work: Work = { kind: 'whole', joined: null, plan: null };
  handed: Handed | null = null;
  /** It was seen to that what it uses comes while the launch before it runs. */
  askedAhead = false;
  /** Milliseconds for which its kernel ran on a GPU; undefined: its driver did not tell. */
  gpuMs: number | undefined = undefined;

  /** @param operation with its size, once that is known */
  constructor(
    readonly queue: LaunchQueue,
    readonly id: number,
    public operation: LaunchOperation,
    readonly done: OperationDone,
  ) {}

  get device(): Device {
    return this.queue.device;
  }

  get isFirst(): boolean {
    return this.queue.launches[0] === this;
  }

  /** Its driver has it, or has told of its end. */
  get isHandedOver(): boolean {
    return this.state === 'running' || this.state === 'completed';
  }

  get hasBegun(): boolean {
    return this.state !== 'waiting' && this.state !== 'doomed';
  }

  /** As messages name it. */
  get kernel(): string {
    return `kernel ${this.operation.kernelName}`;
  }

  get together(): Launch[] {
    return this.work.kind === 'parts' ? [this] : [this, ...(this.work.joined?.launches ?? [])];
  }

  /** What it uses with those that go with it. */
  get used(): readonly NamedArgument[] {
    return (this.work.kind === 'whole' ? this.work.joined?.args : undefined) ?? this.args;
  }

  /** The arguments of what is brought and runs next: all of it, with those that go with it, or a part. */
  get parameters(): readonly LaunchParameter[] {
    const { work } = this;
    const joined = work.kind === 'whole' ? work.joined?.parameters : undefined;
    return joined ?? this.cut?.parameters ?? this.operation.parameters;
  }

  /** What is not as in the operation where it runs in parts, of the part at hand. */
  get cut(): ReturnType<LaunchDivision['partAt']> | null {
    const { work } = this;
    return work.kind === 'whole' ? null : work.division.partAt(work.part, work.supply?.offset ?? 0);
  }

  /** Notes why it ends, unless that is known. */
  fail(failure: WireError | null): void {
    this.failure ??= failure;
  }

  /** Notes that its device has gone, where it has. */
  noteLoss(): void {
    const { device, work } = this;
    // A launch of which a part has run goes on where others would not begin: on a device that is
    // being detached.
    const hasRun = work.kind === 'parts' && work.part > 0;
    if (hasRun ? device.lost : !device.alive) this.fail(lostError(device, this, device.reason));
  }

  /** Its driver gets it for the first time. */
  count(): void {
    const { work } = this;
    const { figures } = this.device;
    figures.launches++;
    if (work.kind === 'whole') return;
    if (work.division.way === 'windowed') figures.windowedLaunches++;
    else figures.pagedLaunches++;
  }
}

/** Launches that follow one, and what all of them use together. */
export interface Joined {
  readonly launches: readonly Launch[];
  /** Disjoint, with that one's. */
  readonly args: readonly NamedArgument[];
  readonly parameters: readonly LaunchParameter[];
  /** Arrays that the device sets to zero before a launch runs, since one before it uses them. */
  readonly zeroed: ReadonlyMap<Launch, readonly string[]>;
}

/** Why a running launch is ended, as programs hear it: what failed, where an array was freed. */
export type Ending =
  | { readonly code: 'ABORTED' | 'TIMEOUT'; readonly reason: string }
  | { readonly code: 'USE_AFTER_FREE' };

/** Drivers hand on what a kernel threw; that of the process device says already whose it is. */
export function messageOf({ code, message }: LaunchRefusal, kernelName: string): string {
  const told = code !== 'KERNEL_ERROR' || message.startsWith(`kernel ${kernelName} `);
  return told ? message : `kernel ${kernelName} failed: ${message}`;
}

/** How a launch has ended, as its stream hears it. */
export function failureOf(device: Device, launch: Launch): WireError | null {
  const { ending, failure, operation, hasBegun: begun } = launch;
  if (ending === null || launch.state === 'completed') return failure;
  if (ending.code === 'USE_AFTER_FREE') return endedBy(failure, launch);
  if (!begun && ending.code === 'ABORTED') return abortError(ending.reason);
  const lost =
    failure?.code === 'DEVICE_LOST'
      ? `; device ${device.info.name} was lost with it: ${device.reason}`
      : '';
  return wireError(
    ending.code,
    `kernel ${operation.kernelName} was ended on device ${device.info.name}: ${ending.reason}; ${consequenceOf(launch)}${lost}`,
    { device: device.info.name, ranges: writtenBy(launch) },
  );
}

function endedBy(failure: WireError | null, launch: Launch): WireError | null {
  if (failure === null) return null;
  const message = `${failure.message}; the launch was ended, and ${consequenceOf(launch)}`;
  return { ...failure, message, details: { ...failure.details, ranges: writtenBy(launch) } };
}

export function lostError(
  device: Device,
  launch: Launch,
  reason: string,
  code = device.loss,
): WireError {
  return wireError(
    code,
    `kernel ${launch.operation.kernelName} was lost with device ${device.info.name}: ${reason}; ${consequenceOf(launch)}`,
    {
      device: device.info.name,
      ranges: writtenBy(launch),
      memorySurvives: device.driver.description.memorySurvives,
    },
  );
}

function consequenceOf({ hasBegun: begun }: Launch): string {
  return begun
    ? 'arrays that it was writing are indeterminate until they are overwritten'
    : 'it had not begun, and its arrays are as they were';
}

/** The arguments whose content is not known when the launch has not come to its end. */
function writtenBy({
  operation,
  hasBegun: begun,
}: Launch): { parameter: string; offset: number; length: number }[] {
  return operation.parameters.flatMap((each) =>
    begun && each.kind === 'array' && each.use !== 'in'
      ? [{ parameter: each.name, offset: each.offset, length: each.length }]
      : [],
  );
}

/** As long as a launch has an array as an argument, its addresses do not become another array's. */
export function countUse(
  arrays: Arrays,
  { parameters, indirect }: LaunchOperation,
  by: 1 | -1,
): void {
  const count = ({ offset }: { readonly offset: number }): void =>
    arrays.countLaunch(Math.floor(offset / PAGE_BYTES), by);
  for (const each of parameters) if (each.kind === 'array') count(each);
  if (indirect !== undefined) count(indirect);
}
