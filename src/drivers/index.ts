/** `onemem/driver`: for programmers of drivers. docs/guides/drivers.md says how. */
export { bytesOf, type ElementType, type NumericArray, viewOf } from '../core/basics/elements.js';
export { Access, type DeviceDescription, PAGE_BYTES, Status } from '../core/basics/types.js';
export { type KernelError, kernelError, refuseAsynchronous } from '../messages/kernel-error.js';
export type {
  ByteAccess,
  CallableKernel,
  CreateDriver,
  Driver,
  DriverContext,
  DriverEvents,
  DriverLaunch,
  Injection,
  KernelCallRange,
  KernelCallValues,
  KernelCode,
  LaunchFailure,
  LaunchParameter,
  PlainValue,
  TransferOrder,
} from './driver.js';
export { CopyEngine } from './toolkit/copy-engine.js';
export { BufferFrames, type FrameStore } from './toolkit/frame-store.js';
export { LaunchQueue } from './toolkit/launch-queue.js';
export { PageTable } from './toolkit/page-table.js';
export type { DriverParts } from './toolkit/parts.js';
