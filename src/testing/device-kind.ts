/** Kinds of devices, as their authors describe them to the suite. */
import type { SpaceOptions } from '../index.js';

/** The space that a scenario needs. */
export interface Wanted {
  readonly devices: 1 | 2;
  /** Memory of each device, in bytes. */
  readonly memoryBytes: number;
  /** Devices and host refuse memory for larger pieces. */
  readonly refuseLargerThanPages?: number;
}

/** A kind of device for the suite. */
export interface DeviceKind {
  readonly name: string;
  /** Whether its memory can be read after its death. */
  readonly memorySurvives: boolean;
  /** Runs only if it is asked for by name. */
  readonly onlyByName?: boolean;
  /** Scenarios that no such device can pass, with the reason. */
  readonly skips?: Readonly<Record<string, string>>;
  /** Options of a space with such devices, or why it cannot be had. */
  open(wanted: Wanted): SpaceOptions | { readonly skip: string };
}
