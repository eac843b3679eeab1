/** What `hostMemory: 'auto'` gives the arrays of a space: a plain function of what was seen of the machine. */
import { BLOCK_BYTES } from '../core/types.js';

export interface MemorySeen {
  /** The least that the machine, or a control group around the process, may have. */
  readonly limit: number;
  /** What can still be taken until that is reached. */
  readonly available: number;
  /** What arrays have in host memory. */
  readonly own: number;
  /** What arrays and pins must be able to have there, whatever happens. */
  readonly least: number;
  /** Of the time since the last look, how much some thread stood still for want of memory: 0 to 1. */
  readonly stalled: number;
  /** Milliseconds since there was last too little, or a thread stood still. */
  readonly calmMs: number;
}

/** A block for each of 15 threads that may fault at once without getting in each other's way, and one. */
export const LEAST_HOST_BYTES = 16 * BLOCK_BYTES;

/** What others find: a share of the limit, within bounds. */
const SLACK_SHARE = 1 / 16;
const LEAST_SLACK = 16 * 2 ** 20;
const MOST_SLACK = 2 ** 30;

/** Threads that stand still for more than this share of the time are a reason to give up memory; for less than that, none to take more. */
const PRESSED = 0.1;
const CALM = 0.01;
/** What is given up for that, whatever seems to be available. */
const GIVEN_UP = 1 / 8;

/** Less than this share of the budget is not worth its moves. */
const STEP = 1 / 32;
/** How long all must have been well until memory is taken back, and what share of the limit is then taken by each look. */
const CALM_MS = 5000;
const GROWTH = 1 / 32;

/** Whether others are pressed for memory. */
export function isPressed({ stalled }: MemorySeen): boolean {
  return stalled > CALM;
}

/** The budget of the host that should follow on one. */
export function nextBudget(budget: number, seen: MemorySeen): number {
  const wanted = wantedBudget(budget, seen);
  if (wanted < budget) return budget - wanted >= budget * STEP ? wanted : budget;
  if (isPressed(seen) || seen.calmMs < CALM_MS || wanted - budget < budget * STEP) return budget;
  return Math.min(wanted, wholeBlocks(budget + Math.max(seen.limit * GROWTH, BLOCK_BYTES)));
}

/** The budget that a space begins with. */
export function firstBudget(limit: number, available: number): number {
  const seen = { limit, available, own: 0, least: 0, stalled: 0, calmMs: 0 };
  return wantedBudget(Number.POSITIVE_INFINITY, seen);
}

function wantedBudget(budget: number, { limit, available, own, least, stalled }: MemorySeen): number {
  const slack = Math.min(Math.max(limit * SLACK_SHARE, LEAST_SLACK), MOST_SLACK);
  let wanted = Math.min(own + available, limit) - slack;
  if (stalled >= PRESSED) wanted = Math.min(wanted, budget * (1 - GIVEN_UP));
  return Math.max(wholeBlocks(wanted), wholeBlocks(least + BLOCK_BYTES - 1), LEAST_HOST_BYTES);
}

function wholeBlocks(bytes: number): number {
  return Math.floor(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}
