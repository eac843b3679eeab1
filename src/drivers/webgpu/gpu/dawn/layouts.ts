/**
 * Numbers and structures of Dawn's C interface, as the library in bun-webgpu-linux-x64 0.1.7 has
 * them. They change between versions of Dawn, and the table that this package's own users go by
 * differs from its library in places. So this is what the library itself was found to take:
 * check.ts asks it for each of them.
 */
import { structure } from './structures.js';

export const CallbackMode = { WaitAnyOnly: 1 } as const;
export const Status = { Success: 1 } as const;
export const WaitStatus = { Success: 1, TimedOut: 2 } as const;
export const ErrorType = { Validation: 2, OutOfMemory: 3, Internal: 4 } as const;
export const FeatureLevel = { Core: 2 } as const;
export const PowerPreference = { HighPerformance: 2 } as const;
export const BackendType = { Vulkan: 6 } as const;
export const BufferBindingType = { uniform: 2, storage: 3, 'read-only-storage': 4 } as const;
export const BufferUsage = {
  MapRead: 0x1,
  MapWrite: 0x2,
  CopySrc: 0x4,
  CopyDst: 0x8,
  Uniform: 0x40,
  Storage: 0x80,
  QueryResolve: 0x200,
} as const;
export const MapMode = { Read: 1, Write: 2 } as const;
export const ShaderStage = { Compute: 4 } as const;
export const QueryType = { Timestamp: 2 } as const;
export const CompilationMessageType = { Error: 1 } as const;
export const StructureType = {
  ShaderSourceWGSL: 0x2,
  DawnTogglesDescriptor: 0x5000a,
  BufferHostMappedPointer: 0x50012,
  DawnFakeBufferOOMForTesting: 0x50040,
} as const;

/** What a device may be opened with, by WebGPU's names; the last one is Dawn's own. */
export const Feature = {
  'timestamp-query': 0x3,
  'shader-f16': 0xa,
  subgroups: 0x11,
  'host-mapped-pointer': 0x50010,
} as const;

const CallbackInfo = structure({
  mode: 'u32',
  callback: 'u64',
  userdata1: 'u64',
  userdata2: 'u64',
});

export const InstanceDescriptor = structure({
  capabilitiesNext: 'u64',
  timedWaitAnyEnable: 'u32',
  timedWaitAnyMaxCount: 'u64',
});

export const RequestAdapterOptions = structure({
  featureLevel: 'u32',
  powerPreference: 'u32',
  forceFallbackAdapter: 'u32',
  backendType: 'u32',
  compatibleSurface: 'u64',
});

export const AdapterInfo = structure({
  vendor: 'text',
  architecture: 'text',
  device: 'text',
  description: 'text',
  backendType: 'u32',
  adapterType: 'u32',
  vendorID: 'u32',
  deviceID: 'u32',
  subgroupMinSize: 'u32',
  subgroupMaxSize: 'u32',
});

/** Of an adapter; the others share the host's memory, or may. */
export const AdapterType = { DiscreteGpu: 1 } as const;

export const Limits = structure({
  maxTextureDimension1D: 'u32',
  maxTextureDimension2D: 'u32',
  maxTextureDimension3D: 'u32',
  maxTextureArrayLayers: 'u32',
  maxBindGroups: 'u32',
  maxBindGroupsPlusVertexBuffers: 'u32',
  maxBindingsPerBindGroup: 'u32',
  maxDynamicUniformBuffersPerPipelineLayout: 'u32',
  maxDynamicStorageBuffersPerPipelineLayout: 'u32',
  maxSampledTexturesPerShaderStage: 'u32',
  maxSamplersPerShaderStage: 'u32',
  maxStorageBuffersPerShaderStage: 'u32',
  maxStorageTexturesPerShaderStage: 'u32',
  maxUniformBuffersPerShaderStage: 'u32',
  maxUniformBufferBindingSize: 'u64',
  maxStorageBufferBindingSize: 'u64',
  minUniformBufferOffsetAlignment: 'u32',
  minStorageBufferOffsetAlignment: 'u32',
  maxVertexBuffers: 'u32',
  maxBufferSize: 'u64',
  maxVertexAttributes: 'u32',
  maxVertexBufferArrayStride: 'u32',
  maxInterStageShaderVariables: 'u32',
  maxColorAttachments: 'u32',
  maxColorAttachmentBytesPerSample: 'u32',
  maxComputeWorkgroupStorageSize: 'u32',
  maxComputeInvocationsPerWorkgroup: 'u32',
  maxComputeWorkgroupSizeX: 'u32',
  maxComputeWorkgroupSizeY: 'u32',
  maxComputeWorkgroupSizeZ: 'u32',
  maxComputeWorkgroupsPerDimension: 'u32',
  maxStorageBuffersInVertexStage: 'u32',
  maxStorageTexturesInVertexStage: 'u32',
  maxStorageBuffersInFragmentStage: 'u32',
  maxStorageTexturesInFragmentStage: 'u32',
});

export const DawnTogglesDescriptor = structure({
  sType: 'u32',
  enabledToggleCount: 'u64',
  enabledToggles: 'u64',
  disabledToggleCount: 'u64',
  disabledToggles: 'u64',
});

export const DeviceDescriptor = structure({
  label: 'text',
  requiredFeatureCount: 'u64',
  requiredFeatures: 'u64',
  requiredLimits: 'u64',
  defaultQueueNext: 'u64',
  defaultQueueLabel: 'text',
  deviceLostCallbackInfo: CallbackInfo,
  uncapturedErrorNext: 'u64',
  uncapturedErrorCallback: 'u64',
  uncapturedErrorUserdata1: 'u64',
  uncapturedErrorUserdata2: 'u64',
});

export const BufferDescriptor = structure({
  label: 'text',
  usage: 'u64',
  size: 'u64',
  mappedAtCreation: 'u32',
});

/** Has a buffer's memory be the program's, from a page on. */
export const BufferHostMappedPointer = structure({
  sType: 'u32',
  pointer: 'u64',
  disposeCallback: 'u64',
  userdata: 'u64',
});

/** Has a buffer find no memory. */
export const FakeMemoryError = structure({
  sType: 'u32',
  fakeOOMAtWireClientMap: 'u32',
  fakeOOMAtNativeMap: 'u32',
  fakeOOMAtDevice: 'u32',
});

export const QuerySetDescriptor = structure({
  label: 'text',
  type: 'u32',
  count: 'u32',
});

export const ShaderSourceWGSL = structure({ sType: 'u32', code: 'text' });

export const ShaderModuleDescriptor = structure({ label: 'text' });

export const CompilationInfo = structure({
  messageCount: 'u64',
  messages: 'u64',
});

export const CompilationMessage = structure({
  message: 'text',
  type: 'u32',
  lineNum: 'u64',
  linePos: 'u64',
  offset: 'u64',
  length: 'u64',
});

const BufferBindingLayout = structure({
  type: 'u32',
  hasDynamicOffset: 'u32',
  minBindingSize: 'u64',
});

// What is no buffer stays zeros: it is not used.
const SamplerBindingLayout = structure({ type: 'u32' });
const TextureBindingLayout = structure({
  sampleType: 'u32',
  viewDimension: 'u32',
  multisampled: 'u32',
});

const StorageTextureBindingLayout = structure({
  access: 'u32',
  format: 'u32',
  viewDimension: 'u32',
});

export const BindGroupLayoutEntry = structure({
  binding: 'u32',
  visibility: 'u64',
  bindingArraySize: 'u32',
  buffer: BufferBindingLayout,
  sampler: SamplerBindingLayout,
  texture: TextureBindingLayout,
  storageTexture: StorageTextureBindingLayout,
});

export const BindGroupLayoutDescriptor = structure({
  label: 'text',
  entryCount: 'u64',
  entries: 'u64',
});

export const PipelineLayoutDescriptor = structure({
  label: 'text',
  bindGroupLayoutCount: 'u64',
  bindGroupLayouts: 'u64',
  immediateDataRangeByteSize: 'u32',
});

export const ConstantEntry = structure({ key: 'text', value: 'f64' });

export const ComputePipelineDescriptor = structure({
  label: 'text',
  layout: 'u64',
  computeNext: 'u64',
  module: 'u64',
  entryPoint: 'text',
  constantCount: 'u64',
  constants: 'u64',
});

export const BindGroupEntry = structure({
  binding: 'u32',
  buffer: 'u64',
  offset: 'u64',
  size: 'u64',
  sampler: 'u64',
  textureView: 'u64',
});

export const BindGroupDescriptor = structure({
  label: 'text',
  layout: 'u64',
  entryCount: 'u64',
  entries: 'u64',
});

export const PassTimestampWrites = structure({
  querySet: 'u64',
  beginningOfPassWriteIndex: 'u32',
  endOfPassWriteIndex: 'u32',
});

export const ComputePassDescriptor = structure({
  label: 'text',
  timestampWrites: 'u64',
});
