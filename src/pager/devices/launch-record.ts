/**
 * A launch from its stream's point of view: what is known of it, and what its stream is told of its
 * end.
 */
import type { LaunchDivision, LaunchParameter } from '../../drivers/driver.js';
import type { LaunchRefusal } from '../../drivers/process-driver.js';
import type { SharedUse } from '../arrays/shared-uses.js';
import type { OperationDone, StreamOperation } from '../protocol/operations.js';
import { abortError, type WireError, wireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import type { GatherPlan } from './gather-plans.js';
import type { NamedArgument } from './launch-arguments.js';
import type { PageSupply } from './page-supply.js';

export type LaunchOperation = Extract<StreamOperation, { kind: 'launch' }>;

export interface LaunchRecord {
  readonly id: number;
  /** With its size, once that is known. */
  operation: LaunchOperation;
  readonly done: OperationDone;
  failure: WireError | null;
  /** The core has been told: from then on the device may have touched its arrays. */
  begun: boolean;
  /** Brings the pages that its indices name, part by part; null: it runs as a whole. */
  plan: GatherPlan | null;
  /** Its parts, where its device has no room for all of it; each is brought and run by itself. */
  division: LaunchDivision | null;
  /**
   * Memory on the device for pages of arrays that its parts do not have as a whole; null: they have
   * none.
   */
  supply: PageSupply | null;
  /** What it uses of arrays that other machines have; null: nothing, or its turn has not come. */
  sharing: SharedUse | null;
  /** Which of them runs or is brought. */
  part: number;
  /** Launches that go to the device with it; null: none. */
  joined: Joined | null;
  /** It was seen to that what it uses comes while the launch before it runs. */
  askedAhead: boolean;
  inDriver: boolean;
  /** Its turn has come, and its device was killed, but is not known to be dead yet. */
  doomed: boolean;
  /** When it will have run for too long, on the manager's clock. */
  timeoutAt: number;
  /** Why it is being ended, before its time. */
  ending: Ending | null;
  /** When its device counts as one that cannot end it. */
  endBy: number;
  /** Milliseconds for which its kernel ran on a GPU; undefined: its driver did not tell. */
  gpuMs: number | undefined;
  /** Its kernel has come to its end, on all units. */
  completed: boolean;
}

/** Launches that follow one, and what all of them use together. */
export interface Joined {
  readonly records: readonly LaunchRecord[];
  /** Disjoint, with that one's. */
  readonly args: readonly NamedArgument[];
  readonly parameters: readonly LaunchParameter[];
  /** Arrays that the device sets to zero before a launch runs, since one before it uses them. */
  readonly zeroed: ReadonlyMap<LaunchRecord, readonly string[]>;
}

/**
 * Why a launch that runs is ended, as the program hears it: what it failed by, where it touched an
 * array that has been freed.
 */
export type Ending =
  | { readonly code: 'ABORTED' | 'TIMEOUT'; readonly reason: string }
  | { readonly code: 'USE_AFTER_FREE' };

/** Drivers hand on what a kernel threw; that of the process device says already whose it is. */
export function messageOf({ code, message }: LaunchRefusal, kernelName: string): string {
  const told = code !== 'KERNEL_ERROR' || message.startsWith(`kernel ${kernelName} `);
  return told ? message : `kernel ${kernelName} failed: ${message}`;
}

/** How a launch has ended, as its stream hears it. */
export function failureOf(device: Device, record: LaunchRecord): WireError | null {
  const { ending, failure, operation, begun } = record;
  if (ending === null || record.completed) return failure;
  if (ending.code === 'USE_AFTER_FREE') return endedBy(failure, record);
  if (!begun && ending.code === 'ABORTED') return abortError(ending.reason);
  const lost =
    failure?.code === 'DEVICE_LOST'
      ? `; device ${device.info.name} was lost with it: ${device.reason}`
      : '';
  return wireError(
    ending.code,
    `kernel ${operation.kernelName} was ended on device ${device.info.name}: ${ending.reason}; ${consequenceOf(record)}${lost}`,
    { device: device.info.name, ranges: writtenBy(record) },
  );
}

function endedBy(failure: WireError | null, record: LaunchRecord): WireError | null {
  if (failure === null) return null;
  const message = `${failure.message}; the launch was ended, and ${consequenceOf(record)}`;
  return { ...failure, message, details: { ...failure.details, ranges: writtenBy(record) } };
}

export function lostError(device: Device, record: LaunchRecord, reason: string): WireError {
  return wireError(
    'DEVICE_LOST',
    `kernel ${record.operation.kernelName} was lost with device ${device.info.name}: ${reason}; ${consequenceOf(record)}`,
    {
      device: device.info.name,
      ranges: writtenBy(record),
      memorySurvives: device.driver.description.memorySurvives,
    },
  );
}

function consequenceOf({ begun }: LaunchRecord): string {
  return begun
    ? 'arrays that it was writing are indeterminate until they are overwritten'
    : 'it had not begun, and its arrays are as they were';
}

/** The arguments whose content is not known when the launch has not come to its end. */
function writtenBy({
  operation,
  begun,
}: LaunchRecord): { parameter: string; offset: number; length: number }[] {
  return operation.parameters.flatMap((each) =>
    begun && each.kind === 'array' && each.use !== 'in'
      ? [{ parameter: each.name, offset: each.offset, length: each.length }]
      : [],
  );
}
