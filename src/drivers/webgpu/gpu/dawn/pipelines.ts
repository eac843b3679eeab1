/** Kernels as the GPU runs them, made by Dawn's C functions. */

import { NativeBuffer } from '../../../../linux/base/native-buffer.js';
import { textAt } from '../../../../linux/base/shared-library.js';
import { copyMemory } from '../../../../linux/memory/memory.js';
import type { Bound, Dispatch } from '../../link/protocol.js';
import { type Failure, type GpuKernel, typeOf } from '../gpu.js';
import type { DawnGpu } from './dawn-gpu.js';
import {
  BindGroupLayoutDescriptor,
  BindGroupLayoutEntry,
  BufferBindingType,
  CompilationInfo,
  CompilationMessage,
  CompilationMessageType,
  ComputePipelineDescriptor,
  ConstantEntry,
  PipelineLayoutDescriptor,
  ShaderModuleDescriptor,
  ShaderSourceWGSL,
  ShaderStage,
  StructureType,
} from './layouts.js';

export interface NativeKernel extends GpuKernel {
  readonly pipeline: number;
  readonly layouts: readonly number[];
}

const ADDRESS_BYTES = 8;

/** Layouts follow the kernel's parameters: WebGPU's own leave out what is not used. */
export function compile(
  gpu: DawnGpu,
  { bound, entryPoint, constants }: Dispatch,
  source: string,
): NativeKernel | { readonly failure: Failure } {
  const { arena, dawn, device } = gpu;
  gpu.takeProblem();
  const chained = arena.put(ShaderSourceWGSL, {
    sType: StructureType.ShaderSourceWGSL,
    code: arena.text(source),
  });
  const module = dawn.deviceCreateShaderModule(
    device,
    arena.put(ShaderModuleDescriptor, { nextInChain: chained }),
  );
  arena.reset();
  const wrong = mistakeIn(gpu, module, source);
  if (wrong !== null) {
    gpu.takeProblem();
    dawn.shaderModuleRelease(module);
    return { failure: { code: 'KERNEL_ERROR', message: wrong } };
  }
  const groups = Math.max(0, ...bound.map(({ group }) => group + 1));
  const layouts = Array.from({ length: groups }, (_, group) => layoutOf(gpu, bound, group));
  const layout = dawn.deviceCreatePipelineLayout(
    device,
    arena.put(PipelineLayoutDescriptor, {
      bindGroupLayoutCount: groups,
      bindGroupLayouts: arena.words(layouts, ADDRESS_BYTES),
    }),
  );
  const values = Object.entries(constants).map(([name, value]) => ({
    key: arena.text(name),
    value,
  }));
  const pipeline = dawn.deviceCreateComputePipeline(
    device,
    arena.put(ComputePipelineDescriptor, {
      layout,
      module,
      entryPoint: arena.text(entryPoint),
      constantCount: values.length,
      constants: arena.list(ConstantEntry, values),
    }),
  );
  arena.reset();
  dawn.pipelineLayoutRelease(layout);
  dawn.shaderModuleRelease(module);
  const problem = gpu.takeProblem();
  if (problem === null) return { pipeline, layouts };
  dawn.computePipelineRelease(pipeline);
  for (const each of layouts) dawn.bindGroupLayoutRelease(each);
  return { failure: { code: 'KERNEL_ERROR', message: problem.message } };
}

function layoutOf(
  { arena, dawn, device }: DawnGpu,
  bound: readonly Bound[],
  group: number,
): number {
  const entries = bound
    .filter((each) => each.group === group)
    .map((each) => ({
      binding: each.binding,
      visibility: ShaderStage.Compute,
      buffer: { type: BufferBindingType[typeOf(each)] },
    }));
  const descriptor = {
    entryCount: entries.length,
    entries: arena.list(BindGroupLayoutEntry, entries),
  };
  return dawn.deviceCreateBindGroupLayout(device, arena.put(BindGroupLayoutDescriptor, descriptor));
}

/** What is wrong in a module, first of all. */
function mistakeIn(gpu: DawnGpu, module: number, source: string): string | null {
  const { dawn, futures } = gpu;
  let wrong: string | null = null;
  // What the callback is shown is there as long as it runs.
  const look = (address: number): void => {
    const told = copyOf(address, CompilationInfo.bytes);
    const count = told.getU64(CompilationInfo.offsets.messageCount);
    const first = told.getU64(CompilationInfo.offsets.messages);
    for (let index = 0; index < count && wrong === null; index++) {
      const message = copyOf(first + index * CompilationMessage.bytes, CompilationMessage.bytes);
      const { offsets } = CompilationMessage;
      if (message.view.getUint32(offsets.type, true) !== CompilationMessageType.Error) continue;
      const text = textAt(
        message.getU64(offsets.message),
        message.getU64(offsets.message + ADDRESS_BYTES),
      );
      const line = message.getU64(offsets.lineNum);
      const column = columnOf(source, line, message.getU64(offsets.linePos));
      wrong = `WGSL, line ${line}:${column}: ${text}`;
    }
  };
  futures.now(
    futures.kinds.address,
    (info) => dawn.shaderModuleGetCompilationInfo(module, info),
    ({ given }) => look(given),
  );
  return wrong;
}

/** Dawn counts bytes of UTF-8, JavaScript its own units of text. */
function columnOf(source: string, line: number, position: number): number {
  const text = source.split('\n')[line - 1] ?? '';
  return (
    Buffer.from(text)
      .subarray(0, Math.max(0, position - 1))
      .toString().length + 1
  );
}

function copyOf(address: number, bytes: number): NativeBuffer {
  const copy = new NativeBuffer(bytes);
  copyMemory(copy.address, address, bytes);
  return copy;
}
