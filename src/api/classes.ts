/**
 * What users hold, by name: the interface (public.ts), and a value for `instanceof`. Only the package makes such objects, so that none of these is
 * called by `new`.
 */
import type { NumericArray } from '../core/elements.js';
import { AddressSpace as SpaceClass } from './address-space.js';
import { Device as DeviceClass } from './device.js';
import { ManagedArray as ArrayClass } from './managed-array.js';
import type * as api from './public.js';
import { SharedArray as SharedArrayClass } from './shared-array.js';
import { Stream as StreamClass } from './stream.js';
import { StreamEvent as EventClass } from './stream-event.js';

type ClassOf<T> = abstract new (...nothing: never) => T;

export type AddressSpace = api.AddressSpace;
export const AddressSpace: ClassOf<AddressSpace> = SpaceClass;
export type Device = api.Device;
export const Device: ClassOf<Device> = DeviceClass;
export type ManagedArray<T extends NumericArray = NumericArray> = api.ManagedArray<T>;
export const ManagedArray: ClassOf<ManagedArray> = ArrayClass;
export type SharedArray<T extends NumericArray = NumericArray> = api.SharedArray<T>;
export const SharedArray: ClassOf<SharedArray> = SharedArrayClass;
export type Stream = api.Stream;
export const Stream: ClassOf<Stream> = StreamClass;
export type StreamEvent = api.StreamEvent;
export const StreamEvent: ClassOf<StreamEvent> = EventClass;
