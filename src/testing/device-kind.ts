/** Kinds of devices, as their authors describe them to the suite. */
import type { SpaceOptions } from '../index.js';

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
  /** Why scenarios, by their names, ask what no device of the kind can do. */
  readonly skips?: Readonly<Record<string, string>>;
  /** The options of a space with such devices, or why they cannot do what is wanted: the scenario is skipped then. */
  open(wanted: Wanted): SpaceOptions | { readonly skip: string };
}
