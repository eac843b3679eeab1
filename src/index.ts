/** onemem: one address space for the CPU, accelerators, disk and other machines. */
export {
  AddressSpace,
  type ArrayOptions,
  attachArray,
  attachSpace,
  type BuiltInDeviceSpecification,
  type CloseOptions,
  type CustomDeviceSpecification,
  type DeviceSpecification,
  openSpace,
  type SpaceOptions,
} from './api/address-space.js';
export type { Advice, AttributeRun, Attributes } from './api/advice.js';
export type { ArrayPart, ArrayRange } from './api/array-part.js';
export type { CopyOptions, CopyPlace } from './api/copy.js';
export type { ArrayDescription } from './api/description.js';
export { Device, type DeviceCapabilities, type DeviceMemory } from './api/device.js';
export { OnememError } from './api/errors.js';
export type { FileArrayOptions, FileUse } from './api/file-array.js';
export type { FilePath } from './api/file-path.js';
export { Hold, type HoldOptions } from './api/hold.js';
export {
  type ArrayParameter,
  bytes,
  f32,
  f64,
  i8,
  i16,
  i32,
  i64,
  type Kernel,
  type KernelFunction,
  type KernelModule,
  type KernelParameters,
  type KernelRange,
  type KernelValues,
  kernel,
  parseParameter,
  type ScalarParameter,
  u8,
  u8c,
  u16,
  u32,
  u64,
} from './api/kernel.js';
export type { LaunchArguments } from './api/launch-arguments.js';
export {
  type ArrayHandle,
  addressView,
  type FlushOptions,
  ManagedArray,
  type Rights,
  type TransferOptions,
  type YoungRun,
} from './api/managed-array.js';
export {
  attachNotifier,
  type InvalidatedElements,
  type InvalidationEvent,
  Notifier,
  type NotifierHandle,
  SequenceReader,
  type WatchOptions,
} from './api/notifier.js';
export type { NpyArray, NumpyType, OpenNpyOptions, SaveNpyOptions } from './api/npy.js';
export { Pin, type PinOptions } from './api/pin.js';
export type { ManagedElements } from './api/place.js';
export type { PointerAttributes } from './api/pointer.js';
export type { ProvidedArrayOptions } from './api/provided-array.js';
export type { Residency, ResidencyRun } from './api/residency.js';
export { type LaunchOptions, Stream, type StreamOptions } from './api/stream.js';
export { StreamEvent } from './api/stream-event.js';
export type { WaitResult } from './api/wait.js';
export type { AddressView, WordOf, WordType } from './core/address-view.js';
export type { ElementType, NumericArray, ReadonlyView, WritableView } from './core/elements.js';
export type {
  CreateNotifier,
  Invalidation,
  InvalidationReason,
  NotifierFacts,
  NotifierFunctions,
} from './pager/protocol/notifiers.js';
export type { FillFunction, FillRequest, ProvidedArrayFacts } from './pager/protocol/providers.js';
export type { Injection, ProcessorStats, SpaceHandle, SpaceStats } from './pager/protocol/requests.js';
