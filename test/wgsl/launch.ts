/**
 * A launch of a kernel in one dispatch, and in parts on windows of its arrays, as a driver would
 * make it.
 */
import type { LaunchFacts } from '../../src/wgsl/analysis/access.js';
import type { Interval } from '../../src/wgsl/analysis/forms.js';
import { NumberRanges, tellingArrays } from '../../src/wgsl/analysis/number-ranges.js';
import { finished } from '../../src/wgsl/analysis/slices.js';
import type { PageMemory } from '../../src/wgsl/dividing/page-memory.js';
import {
  type LaunchPart,
  movedBytes,
  type WindowPlan,
  windowSlices,
} from '../../src/wgsl/dividing/windows.js';
import type { Description } from '../../src/wgsl/reading/describe.js';
import { knownNumbers } from '../../src/wgsl/reading/known-numbers.js';
import type { UniformValue } from '../../src/wgsl/reading/uniform-value.js';
import { windowed } from '../../src/wgsl/rewriting/windowed.js';
import type { Bound, Gpu } from './gpu.js';
import type { Arrays, KernelCase } from './kernel-case.js';
import { type PagedOutcome, runPaged, runPlanned } from './paged-launch.js';
import { bytesOf, headsOf, putBack } from './part-arrays.js';
import { uniformBytes } from './uniform-bytes.js';

const BINDING_BYTES = 128 * 2 ** 20;

export class TestLaunch {
  readonly #kernel: KernelCase;
  readonly #description: Description;
  readonly #facts: LaunchFacts;
  /** Of all storage variables together. */
  readonly bytes: number;

  constructor(kernel: KernelCase, description: Description) {
    this.#kernel = kernel;
    this.#description = description;
    const lengths: Record<string, number> = {};
    for (const { name, runtimeArray, arrayOffset } of description.resources) {
      if (runtimeArray === null) continue;
      const { byteLength } = kernel.arrays[name] as { byteLength: number };
      lengths[name] = Math.floor((byteLength - arrayOffset) / runtimeArray.stride);
    }
    const uniforms = { ...kernel.uniforms, ...knownOf(kernel, description) };
    this.#facts = { workgroups: kernel.workgroups, lengths, uniforms };
    this.bytes = Object.values(kernel.arrays).reduce((sum, each) => sum + each.byteLength, 0);
  }

  plan(budgetBytes: number): WindowPlan {
    const limits = { budgetBytes, bindingBytes: BINDING_BYTES, alignmentBytes: 64 };
    return finished(windowSlices(this.#description, this.#facts, limits));
  }

  async direct(gpu: Gpu): Promise<Arrays> {
    const arrays = structuredClone(this.#kernel.arrays) as Arrays;
    const { name } = this.#description.entryPoint;
    const pipeline = await gpu.pipeline(this.#kernel.source, name, this.#kernel.overrides ?? {});
    const bound = this.#bound((each) => bytesOf(arrays, each));
    await gpu.dispatch(pipeline, bound, this.#kernel.workgroups);
    return arrays;
  }

  async inParts(gpu: Gpu, parts: readonly LaunchPart[]): Promise<Arrays> {
    const arrays = structuredClone(this.#kernel.arrays) as Arrays;
    const module = windowed(this.#description);
    const { name } = this.#description.entryPoint;
    const pipeline = await gpu.pipeline(module.source, name, this.#kernel.overrides ?? {});
    for (const part of parts) {
      // What lies outside of its windows a part cannot see: it has copies of them only.
      const copies = new Map(
        part.windows.map(({ resource, offsetBytes, bytes }) => {
          const content = bytesOf(arrays, resource.name);
          return [resource.name, content.slice(offsetBytes, offsetBytes + bytes)];
        }),
      );
      const uniform = new Uint8Array(module.uniformOf(part, this.#facts));
      const bound = this.#bound((each) => copies.get(each) as Uint8Array);
      const { group, binding } = module;
      const heads = headsOf(module.heads, arrays);
      await gpu.dispatch(
        pipeline,
        [
          ...bound,
          ...heads.map(({ bound }) => bound),
          { group, binding, kind: 'uniform', bytes: uniform, back: false },
        ],
        part.count,
      );
      putBack(part, arrays, copies);
      for (const each of heads) each.putBack();
    }
    return arrays;
  }

  /** In windows by the numbers that arrays hold; null: that does not do. */
  planByContents(budgetBytes: number): WindowPlan | null {
    const telling = tellingArrays(this.#description, this.#facts);
    if (telling.length === 0) return null;
    const ranges = new Map(
      telling.map(({ name, runtimeArray, arrayOffset }) => {
        const length = this.#facts.lengths[name] as number;
        const element = runtimeArray?.element;
        const isSigned = element?.kind === 'scalar' && element.name === 'i32';
        const own = new NumberRanges(length, isSigned);
        finished(own.add(0, bytesOf(this.#kernel.arrays as Arrays, name).subarray(arrayOffset)));
        return [name, own] as const;
      }),
    );
    const contents = (name: string, elements: Interval) => ranges.get(name)?.of(elements) ?? null;
    const facts = { ...this.#facts, contents };
    const plan = finished(
      windowSlices(this.#description, facts, {
        budgetBytes,
        bindingBytes: BINDING_BYTES,
        alignmentBytes: 64,
      }),
    );
    return plan.kind === 'parts' && movedBytes(plan.parts) <= 3 * this.bytes ? plan : null;
  }

  /** With its arrays paged; a text says why it cannot be. */
  async paged(
    gpu: Gpu,
    share: number,
    memory: PageMemory | null = null,
  ): Promise<{ arrays: Arrays; outcome: PagedOutcome | string }> {
    const given = this.#given();
    return { arrays: given.arrays, outcome: await runPaged(gpu, given, share, memory) };
  }

  /**
   * With what it only reads paged, and every page there before it runs; null where that cannot be.
   */
  async planned(gpu: Gpu, share: number): Promise<{ arrays: Arrays; dispatches: number } | null> {
    const given = this.#given();
    const dispatches = await runPlanned(gpu, given, share);
    return dispatches === null ? null : { arrays: given.arrays, dispatches };
  }

  #given() {
    const arrays = structuredClone(this.#kernel.arrays) as Arrays;
    const uniforms = this.#bound(() => new Uint8Array()).filter(({ kind }) => kind === 'uniform');
    const { overrides = {} } = this.#kernel;
    return { description: this.#description, facts: this.#facts, arrays, overrides, uniforms };
  }

  #bound(content: (name: string) => Uint8Array): Bound[] {
    return this.#description.resources.map((resource) => {
      const { name, group, binding, space, access } = resource;
      if (space !== 'uniform')
        return {
          group,
          binding,
          kind: 'storage',
          bytes: content(name),
          back: access === 'read_write',
        };
      const bytes = new Uint8Array(uniformBytes(resource, this.#facts.uniforms[name] ?? 0));
      return { group, binding, kind: 'uniform', bytes, back: false };
    });
  }
}

/** What its small arrays hold, as a driver looks at them. */
function knownOf({ arrays }: KernelCase, description: Description): Record<string, UniformValue> {
  const work = knownNumbers(description, (name) => bytesOf(arrays, name).length);
  let step = work.next(null);
  while (step.done !== true) {
    const { name, bytes } = step.value;
    step = work.next(bytesOf(arrays, name).slice(0, bytes));
  }
  return step.value;
}
