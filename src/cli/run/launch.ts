/** Runs a kernel part by part, so that the command can show how far it is. */

import type { Device, Kernel, KernelParameters, LaunchArguments } from '../../index.js';
import type { Extent } from './launch-size.js';

/** Launches under way: the device has the next one, and a failure leaves little to cancel. */
const AHEAD = 4;
/** Parts begin at multiples of this, so that two of them seldom share a page. */
const STEP = 1024;

/** Consecutive parts of [0, size), at most `count`. */
export function partsOf(size: number, count: number): { begin: number; end: number }[] {
  let each = Math.ceil(size / count);
  if (each > STEP) each = Math.ceil(each / STEP) * STEP;
  const parts: { begin: number; end: number }[] = [];
  for (let begin = 0; begin < size; begin += each)
    parts.push({ begin, end: Math.min(begin + each, size) });
  return parts;
}

/**
 * Launches the parts in order on one stream. Every launch empties the arrays that are `out`, and
 * here they are filled part by part: new arrays, which read 0 by themselves, must be handed in, and
 * the kernel gets them as `inout`.
 */
export async function launchInParts(
  device: Device,
  kernel: Kernel,
  args: Readonly<Record<string, unknown>>,
  options: {
    size: Extent;
    parts: readonly { begin: number; end: number }[];
    onProgress: (done: number) => void;
  },
): Promise<void> {
  const { size, parts, onProgress } = options;
  const parameters: KernelParameters = Object.fromEntries(
    Object.entries(kernel.parameters).map(([name, each]) => [
      name,
      each.kind === 'array' && each.use === 'out' ? ({ ...each, use: 'inout' } as const) : each,
    ]),
  );
  using stream = device.stream();
  const launch = (part: { begin: number; end: number }) =>
    stream.launch({ ...kernel, parameters }, args as LaunchArguments<KernelParameters>, {
      size,
      ...part,
    });
  onProgress(0);
  const waiting = parts.slice(0, AHEAD).map(launch);
  for (const [index, { end }] of parts.entries()) {
    const event = waiting.shift();
    const next = parts[index + AHEAD];
    if (next !== undefined) waiting.push(launch(next));
    await event?.synchronize();
    onProgress(end);
  }
}
