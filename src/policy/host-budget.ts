/** What the arrays of a space get of a machine's memory: plain functions of what was seen of it. */
import { BLOCK_BYTES } from '../core/basics/types.js';

const MIB = 2 ** 20;

/** Of the limit, what arrays take at most unless the program says more. */
const HOST_SHARE = 0.7;
/**
 * Memory that a space takes besides its arrays, in bytes: its threads with their heaps, copies,
 * page tables, and what the program's own code takes while it runs. Measured: 65 MiB.
 */
const SPACE_BYTES = 64 * MIB;
/** The same for each device that is a process. Measured: 28 MiB. */
const PROCESS_BYTES = 32 * MIB;

export interface MemoryReadings {
  /** The least that the machine, or a control group around the process, may have. */
  readonly limit: number;
  /** What can still be taken until that is reached. */
  readonly available: number;
  /** Memory of devices that was promised to them, and that they have not taken yet. */
  readonly promised: number;
  /** What arrays have in host memory. */
  readonly own: number;
  /** What arrays and pins must be able to have there, whatever happens. */
  readonly least: number;
  /** For how much of the time since the last look a thread stalled for memory: 0 to 1. */
  readonly stalled: number;
  /** Milliseconds since there was last too little, or a thread stood still. */
  readonly calmMs: number;
}

/** A block for each of 15 threads that fault at once, and one. */
export const LEAST_HOST_BYTES = 16 * BLOCK_BYTES;

/** What others find: a share of the limit, within bounds. */
const SLACK_SHARE = 1 / 16;
const LEAST_SLACK = 32 * MIB;
const MOST_SLACK = 1024 * MIB;
/** Less than this share of that: others take memory faster than it is given up. */
const SHORT = 3 / 4;

/** A larger share of stalls is a reason to give up memory; a smaller, to take none. */
const PRESSED = 0.1;
const CALM = 0.01;
/** What is given up for that, whatever seems to be available. */
const GIVEN_UP = 1 / 8;

/** Less than this share of the budget is not worth its moves. */
const STEP = 1 / 32;
/** How long all must be well until memory is taken back, and then what share by a look. */
const CALM_MS = 5000;
const GROWTH = 1 / 32;

/** Whether others are pressed for memory. */
export function isPressed({ stalled }: MemoryReadings): boolean {
  return stalled > CALM;
}

/** Whether others find so little that it must soon be looked again. */
export function isShort({ limit, available }: MemoryReadings): boolean {
  return available < slackOf(limit) * SHORT;
}

/** The budget of the host that should follow on one. */
export function nextBudget(budget: number, seen: MemoryReadings): number {
  const wanted = wantedBudget(budget, seen);
  if (wanted < budget) return budget - wanted >= budget * STEP ? wanted : budget;
  if (isPressed(seen) || seen.calmMs < CALM_MS || wanted - budget < budget * STEP) return budget;
  return Math.min(wanted, wholeBlocks(budget + Math.max(seen.limit * GROWTH, BLOCK_BYTES)));
}

/** Devices whose memory is the host's. */
export interface HostDevices {
  /** Those that are processes. */
  readonly processes: number;
  /** Memory of all of them. */
  readonly bytes: number;
}

/** What a space needs besides its arrays, by what it is for, in bytes. */
export interface MemoryNeeds {
  readonly space: number;
  readonly processes: number;
  readonly devices: number;
  readonly spare: number;
}

export function memoryNeeds(limit: number, { processes, bytes }: HostDevices): MemoryNeeds {
  return {
    space: SPACE_BYTES,
    processes: processes * PROCESS_BYTES,
    devices: bytes,
    spare: slackOf(limit),
  };
}

/**
 * The budget that a space begins with: what is available less what else it needs, and at most a
 * share of the limit. It may be less than a space can work with.
 */
export function firstBudget(limit: number, available: number, devices: HostDevices): number {
  const needs = Object.values(memoryNeeds(limit, devices)).reduce((sum, each) => sum + each, 0);
  return Math.max(0, wholeBlocks(Math.min(limit * HOST_SHARE, available - needs)));
}

function wantedBudget(
  budget: number,
  { limit, available, promised, own, least, stalled }: MemoryReadings,
): number {
  let wanted = Math.min(own + available - promised, limit) - slackOf(limit);
  if (stalled >= PRESSED) wanted = Math.min(wanted, budget * (1 - GIVEN_UP));
  return Math.max(wholeBlocks(wanted), wholeBlocks(least + BLOCK_BYTES - 1), LEAST_HOST_BYTES);
}

function slackOf(limit: number): number {
  return Math.min(Math.max(limit * SLACK_SHARE, LEAST_SLACK), MOST_SLACK);
}

function wholeBlocks(bytes: number): number {
  return Math.floor(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}
