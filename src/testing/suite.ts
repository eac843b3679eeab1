/** What a scenario and a kind of device are to each other. */
import type { SpaceOptions } from '../index.js';
import type { Context } from './context.js';

/** What a scenario wants of the space that it gets. */
export interface Wanted {
  readonly devices: 1 | 2;
  /** Memory of each device, in bytes. */
  readonly memoryBytes: number;
  /** Devices and host refuse memory for pieces of more pages, as nodes without large pieces do. */
  readonly refuseLargerThanPages?: number;
}

/** A kind of device, as its author describes it to the suite. */
export interface DeviceKind {
  readonly name: string;
  /** Whether what a device holds can be had after the device has died. */
  readonly memorySurvives: boolean;
  /** Left out unless it is asked for by its name. */
  readonly onlyByName?: boolean;
  /** The options of a space with such devices, or why they cannot do what is wanted: the scenario is skipped then. */
  open(wanted: Wanted): SpaceOptions | { readonly skip: string };
}

export interface Scenario {
  readonly name: string;
  readonly devices: 1 | 2;
  /** What must hold, in a sentence. */
  readonly holds: string;
  readonly refuseLargerThanPages?: number;
  /** Memory of each device, where the usual 32 MiB do not do. */
  readonly memoryBytes?: number;
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
