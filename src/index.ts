/** onemem: one address space for the CPU, accelerators, disk and other machines. */

export type { AttributeRun, Attributes } from './api/arrays/advice.js';
export { Guard, type GuardOptions } from './api/arrays/array-guard.js';
export type { AsyncBuffer } from './api/arrays/bytes/byte-streams.js';
export type { TransferOptions } from './api/arrays/bytes/transfer.js';
export {
  attachNotifier,
  type InvalidatedElements,
  type InvalidationEvent,
  Notifier,
  type NotifierHandle,
  SequenceReader,
} from './api/arrays/changes/notifier.js';
export type { YoungRun } from './api/arrays/changes/use-reports.js';
export type { WaitResult } from './api/arrays/changes/wait.js';
export type { FileArrayOptions, FileUse } from './api/arrays/files/file-array.js';
export type { NumpyType, OpenNpyOptions, SaveNpyOptions } from './api/arrays/files/npy.js';
export { Hold, type HoldOptions } from './api/arrays/hold.js';
export type { ArrayHandle } from './api/arrays/parts/array-handle.js';
export type { ArrayPart } from './api/arrays/parts/array-part.js';
export type {
  ArrayDescription,
  DeviceDescription,
  SpaceDescription,
  StreamDescription,
  StreamEventDescription,
} from './api/arrays/parts/description.js';
export { Pin, type PinOptions } from './api/arrays/pin.js';
export type { ProvidedArrayOptions } from './api/arrays/provided-array.js';
export type { Rights } from './api/arrays/rights.js';
export { type BindThreadOptions, ThreadBinding } from './api/arrays/thread-binding.js';
export {
  AddressSpace,
  Device,
  HostStream,
  ManagedArray,
  SharedArray,
  Stream,
  StreamEvent,
} from './api/classes.js';
export {
  type ArrayParameter,
  bytes,
  f32,
  f64,
  type GatherableParameter,
  i8,
  i16,
  i32,
  i64,
  type Kernel,
  type KernelFunction,
  type KernelModule,
  type KernelParameter,
  type KernelParameters,
  type KernelRange,
  type KernelValues,
  kernel,
  type NamedElements,
  parseParameter,
  type ScalarParameter,
  type TypegpuFunction,
  type TypegpuKernel,
  u8,
  u8c,
  u16,
  u32,
  u64,
  type WgslKernel,
} from './api/kernels/kernel.js';
export {
  arrayOf,
  mat2x2f,
  mat2x3f,
  mat2x4f,
  mat3x2f,
  mat3x3f,
  mat3x4f,
  mat4x2f,
  mat4x3f,
  mat4x4f,
  type Numbers,
  struct,
  type TypegpuSchema,
  type UniformInput,
  type UniformParameter,
  type UniformType,
  type UniformValueOf,
  uniform,
  vec2f,
  vec2i,
  vec2u,
  vec3f,
  vec3i,
  vec3u,
  vec4f,
  vec4i,
  vec4u,
} from './api/kernels/uniform-parameters.js';
export type {
  HostStreamOptions,
  LaunchOptions,
  StreamOptions,
} from './api/launches/launch-options.js';
export type { LaunchSize } from './api/launches/launch-size.js';
export {
  type RegisterableMemory,
  type RegisterOptions,
  Registration,
  type WasmMemory,
} from './api/launches/registration.js';
export { addressView } from './api/objects/address-view.js';
export type { MetricsOptions, MetricsRegistry } from './api/objects/prom-client.js';
export { SpaceServer } from './api/objects/serve.js';
export { type EventsOptions, type SpaceEventMap, SpaceEvents } from './api/objects/space-events.js';
export { attachArray, attachSpace } from './api/opening/attach.js';
export { openSpace, type SpaceOptions } from './api/opening/open-space.js';
export type {
  BuiltInDeviceSpecification,
  CustomDeviceSpecification,
  DeviceSpecification,
  OwnGpuDevice,
  WebgpuDeviceSpecification,
} from './api/options/device-specification.js';
export {
  type Explanation,
  Recording,
  type RecordingSummary,
  type RecordOptions,
  type SpaceReport,
} from './api/options/recording.js';
export type { BehindSpecification } from './api/options/server-memory.js';
export type { SharedArrayOptions, SharingServer } from './api/options/sharing.js';
export type { SlowMemorySpecification } from './api/options/slow-memory.js';
export type { StorageSpecification } from './api/options/storage.js';
export type {
  Advice,
  ArrayOptions,
  ArrayRange,
  ArrowColumn,
  ArrowFile,
  ArrowTable,
  BarrierOptions,
  CloseOptions,
  CopyOptions,
  CopyPlace,
  DeviceCapabilities,
  DeviceMemory,
  FlushOptions,
  LaunchArguments,
  LaunchEstimate,
  ManagedElements,
  NpyArray,
  NumaOption,
  PointerAttributes,
  ServedPoints,
  ServeOptions,
  ShareOptions,
  Tensor,
  TensorFile,
  ViewedRange,
  WatchOptions,
} from './api/public.js';
export { OnememError } from './api/values/errors.js';
export type { FilePath } from './api/values/file-path.js';
export type { Residency, ResidencyRun } from './api/values/residency.js';
export type { AddressView, WordOf, WordType } from './core/basics/address-view.js';
export type {
  ElementType,
  NumericArray,
  ReadonlyView,
  WritableView,
} from './core/basics/elements.js';
export type { OnememErrorCode } from './messages/error-codes.js';
export type { ShareRights } from './pager/protocol/attaching.js';
export type {
  GuardAnswer,
  GuardFunction,
  GuardNote,
  GuardQuestion,
  GuardReport,
} from './pager/protocol/guards.js';
export type {
  CreateNotifier,
  Invalidation,
  InvalidationReason,
  NotifierFacts,
  NotifierFunctions,
} from './pager/protocol/notifiers.js';
export type { FillFunction, FillRequest, ProvidedArrayFacts } from './pager/protocol/providers.js';
export type {
  Injection,
  ProcessorStats,
  ServerStats,
  SlowMemoryStats,
  SpaceHandle,
  SpaceStats,
  StorageStats,
} from './pager/protocol/space.js';
export type { Conflict, ConflictingProcessor } from './trace/report/conflicts.js';
export type { PageStory, StoryLine } from './trace/report/page-story.js';
export type {
  ArrayCost,
  MemoryCost,
  RegrettedEvictions,
  Remedy,
  Report,
} from './trace/report/report.js';
export type { UnaskedCost, UnaskedReason } from './trace/report/unasked.js';
