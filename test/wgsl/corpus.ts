/**
 * Each kernel of the corpus: one dispatch beside plain JavaScript, and parts beside the one
 * dispatch, byte for byte.
 */
import assert from 'node:assert/strict';
import { describe } from '../../src/wgsl/reading/describe.js';
import type { Parser } from '../../src/wgsl/reading/syntax.js';
import { WgslError } from '../../src/wgsl/reading/wgsl-error.js';
import type { Gpu } from './gpu.js';
import type { Arrays, KernelCase } from './kernel-case.js';
import { TestLaunch } from './launch.js';
import type { PagedOutcome } from './paged-launch.js';

export const SMALLER = [1 / 2, 1 / 4, 1 / 8];

/** @param shares of the bytes of the arrays for which there are frames where they are paged */
export async function tryKernel(
  parser: Parser,
  gpu: Gpu,
  kernel: KernelCase,
  shares: readonly number[],
): Promise<void> {
  const description = describe(parser, kernel.source, kernel.entryPoint, {
    overrides: kernel.overrides ?? {},
  });
  const launch = new TestLaunch(kernel, description);
  const expected = structuredClone(kernel.arrays) as Arrays;
  kernel.reference(expected);
  kernel.ordered?.(expected);
  const direct = await launch.direct(gpu);
  kernel.ordered?.(direct);
  assert.deepEqual(direct, expected, 'in one dispatch');

  await tryPaged(gpu, kernel, launch, direct, shares);
  const isPlanned = await planned(gpu, launch, kernel.planned ?? 1 / 2, direct, kernel.ordered);
  if (kernel.planned !== undefined) assert.ok(isPlanned, 'what it touches is known before');
  const whole = launch.plan(launch.bytes);
  assert.equal(whole.kind === 'parts' && whole.parts.length, 1, 'what fits is one part');
  if (kernel.windows instanceof RegExp) {
    const plan = launch.plan(launch.bytes / 2);
    assert.equal(plan.kind, 'refused');
    assert.match(plan.kind === 'refused' ? plan.reason : '', kernel.windows);
    return;
  }
  const must = typeof kernel.windows === 'number' ? kernel.windows : 1 / 2;
  for (const share of [must, ...SMALLER.filter((each) => each < must)]) {
    const plan = launch.plan(launch.bytes * share);
    // What every part needs whole may be too much for the smaller budgets.
    if (plan.kind === 'refused') {
      assert.notEqual(share, must, plan.reason);
      break;
    }
    assert.ok(plan.parts.length > 1);
    for (const { windows } of plan.parts) {
      const bytes = windows.reduce((sum, each) => sum + each.bytes, 0);
      assert.ok(bytes <= launch.bytes * share, `${bytes} bytes in a part`);
    }
    const inParts = await launch.inParts(gpu, plan.parts);
    kernel.ordered?.(inParts);
    assert.deepEqual(inParts, direct, `in ${plan.parts.length} parts`);
  }
}

async function tryPaged(
  gpu: Gpu,
  kernel: KernelCase,
  launch: TestLaunch,
  direct: Arrays,
  shares: readonly number[],
): Promise<void> {
  for (const share of new Set(shares.map((each) => Math.max(each, kernel.leastPaged ?? 0)))) {
    const refused = await paged(gpu, launch, share, direct, kernel.ordered);
    if (typeof refused !== 'string')
      assert.equal(kernel.unpaged, undefined, 'it was to be refused');
    else
      assert.match(
        refused,
        kernel.unpaged ?? /^no array of the kernel can be looked up page by page/,
      );
  }
}

/** Whether what it touches is known before it runs; it gave what it gives in one dispatch. */
export async function planned(
  gpu: Gpu,
  launch: TestLaunch,
  share: number,
  direct: Arrays,
  ordered?: (arrays: Arrays) => void,
): Promise<boolean> {
  const done = await launch.planned(gpu, share);
  if (done === null) return false;
  ordered?.(done.arrays);
  assert.deepEqual(
    done.arrays,
    direct,
    `planned, with ${share} of the bytes, in ${done.dispatches} dispatches`,
  );
  return true;
}

/** Why it was refused is a text; otherwise it gave what it gives in one dispatch. */
export async function paged(
  gpu: Gpu,
  launch: TestLaunch,
  share: number,
  direct: Arrays,
  ordered?: (arrays: Arrays) => void,
): Promise<PagedOutcome | string> {
  try {
    const { arrays, outcome } = await launch.paged(gpu, share);
    ordered?.(arrays);
    if (typeof outcome !== 'string')
      assert.deepEqual(
        arrays,
        direct,
        `paged, with ${share} of the bytes, in ${outcome.rounds} rounds`,
      );
    return outcome;
  } catch (error) {
    if (error instanceof WgslError) return error.message;
    throw error;
  }
}
