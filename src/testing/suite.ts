/** Scenarios, and what becomes of them. */
import type { Context } from './context.js';

export interface Scenario {
  readonly name: string;
  readonly devices: 1 | 2;
  readonly holds: string;
  readonly refuseLargerThanPages?: number;
  /** Memory of each device, where the usual 32 MiB do not do. */
  readonly memoryBytes?: number;
  /** Host memory is 32 MiB, with so much slow memory behind it. */
  readonly slowMemoryBytes?: number;
  /** Whether the manager's books are looked at after every event; not where time is measured. */
  readonly checkInvariants?: boolean;
  /** Throws what does not hold. */
  run(context: Context): Promise<void>;
}

export interface Result {
  readonly scenario: string;
  readonly device: string;
  readonly result: 'pass' | 'fail' | 'skip';
  /** Empty for a pass. */
  readonly why: string;
}
