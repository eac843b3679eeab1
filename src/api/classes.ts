/**
 * What users hold, by name: the interface (public.ts), and a value for `instanceof`. Only the
 * package makes such objects, so that none of these is called by `new`.
 */
import type { NumericArray } from '../core/basics/elements.js';
import { AddressSpace } from './objects/address-space.js';
import { Device } from './objects/device.js';
import { HostStream } from './objects/host-stream.js';
import { ManagedArray } from './objects/managed-array.js';
import { SharedArray } from './objects/shared-array.js';
import { Stream } from './objects/stream.js';
import { StreamEvent } from './objects/stream-event.js';
import type * as api from './public.js';

type ClassOf<T> = abstract new (...nothing: never) => T;

// A bundler would rename the classes, if these had their names in here: users see the names in
// stacks.
type PublicSpace = api.AddressSpace;
const PublicSpace: ClassOf<PublicSpace> = AddressSpace;
type PublicDevice = api.Device;
const PublicDevice: ClassOf<PublicDevice> = Device;
type PublicArray<T extends NumericArray = NumericArray> = api.ManagedArray<T>;
const PublicArray: ClassOf<PublicArray> = ManagedArray;
type PublicSharedArray<T extends NumericArray = NumericArray> = api.SharedArray<T>;
const PublicSharedArray: ClassOf<PublicSharedArray> = SharedArray;
type PublicHostStream = api.HostStream;
const PublicHostStream: ClassOf<PublicHostStream> = HostStream;
type PublicStream = api.Stream;
const PublicStream: ClassOf<PublicStream> = Stream;
type PublicEvent = api.StreamEvent;
const PublicEvent: ClassOf<PublicEvent> = StreamEvent;

export {
  PublicArray as ManagedArray,
  PublicDevice as Device,
  PublicEvent as StreamEvent,
  PublicHostStream as HostStream,
  PublicSharedArray as SharedArray,
  PublicSpace as AddressSpace,
  PublicStream as Stream,
};
