/**
 * Runs the first part of a launch twice before it begins, on copies of its arguments: on the
 * device, and here by the function itself. A name that means something else here than on the device
 * shows in a difference.
 */
import {
  bytesOf,
  type ElementType,
  type NumericArray,
  viewOf,
} from '../../core/basics/elements.js';
import type { CallableKernel } from '../../drivers/driver.js';
import { importKernel } from '../../drivers/kernel-loader.js';
import { takeBytes } from '../arrays/bytes/byte-moves.js';
import { managedPart } from '../arrays/parts/place.js';
import type { Kernel, KernelRange } from '../kernels/kernel.js';
import { kernelSource } from '../kernels/kernel-source.js';
import type { Device } from '../public.js';
import { textOf } from '../values/arguments.js';
import { DISPOSE } from '../values/disposal.js';
import { OnememError, warn } from '../values/errors.js';
import type { LaunchRange } from './launch-size.js';

/** Work items of the first part. */
const ITEMS = 1024;
const MOST_BYTES = 2 ** 30;

/** Kernels of which it was said that they cannot be compared. */
const warned = new WeakSet<Kernel>();

/** The function of a kernel, also from a module; null, with a warning: it cannot be called. */
async function functionOf(kernel: Kernel): Promise<CallableKernel | null> {
  try {
    const { code } = kernel;
    if (code.kind === 'wgsl') {
      tell(kernel, 'it has no function to compare with');
      return null;
    }
    const found =
      code.kind === 'inline' ? (kernel.kernel as CallableKernel) : await importKernel(code);
    if (found.length <= 2) return found;
    tell(kernel, 'it uses memory by address, and copies lie at other addresses');
  } catch (error) {
    tell(kernel, `its module cannot be loaded in this thread: ${textOf(error)}`);
  }
  return null;
}

function tell(kernel: Kernel, why: string): void {
  if (warned.has(kernel)) return;
  warned.add(kernel);
  warn('ONEMEM_NOT_VERIFIED', `kernel ${kernel.name} is not verified: ${why}`);
}

/** Rejects with KERNEL_DIFFERS where the device does something else than the function. */
export async function verifyLaunch(
  device: Device,
  kernel: Kernel,
  args: Readonly<Record<string, unknown>>,
  { begin, end, size }: LaunchRange,
): Promise<void> {
  const called = await functionOf(kernel);
  if (called === null) return;
  const last = Math.min(end, begin + ITEMS);
  const whole = begin === 0 && end === size;
  checkBytes(kernel, args);
  const here = copiesOf(kernel, args, whole);
  const there = copiesOf(kernel, args, whole);
  const range: KernelRange = { begin, end: last, size, unit: 0, units: 1 };
  const ownFailure = await failureOf(() => called(here as Parameters<CallableKernel>[0], range));
  const stream = device.stream();
  const failure = await failureOf(() =>
    stream.launch(kernel, there as never, { size, begin, end: last, verify: false }).synchronize(),
  );
  stream[DISPOSE]();
  if (ownFailure !== null && failure !== null) return;
  if (failure !== null) throw differs(kernel, `it fails there (${failure.text}), but not here`, {});
  if (ownFailure !== null)
    throw differs(kernel, `its function fails here (${ownFailure.text}), but not there`, {});
  for (const [name, parameter] of Object.entries(kernel.parameters)) {
    if (parameter.kind !== 'array') continue;
    const [mine, theirs] = [here[name], there[name]] as [NumericArray, NumericArray];
    for (let index = 0; index < mine.length; index++) {
      if (Object.is(mine[index], theirs[index])) continue;
      const what = `${name}[${index}] becomes ${theirs[index]} there and ${mine[index]} here`;
      throw differs(kernel, what, {
        parameter: name,
        index,
        device: theirs[index],
        host: mine[index],
      });
    }
  }
}

async function failureOf(action: () => unknown): Promise<{ text: string } | null> {
  try {
    await action();
    return null;
  } catch (error) {
    return { text: textOf(error) };
  }
}

function bytesIn(value: unknown): number {
  const part = managedPart(value);
  if (part === null) return (value as NumericArray).byteLength;
  return (Number(part.end) - Number(part.begin)) * bytesOf(part.array.type);
}

function checkBytes(kernel: Kernel, args: Readonly<Record<string, unknown>>): void {
  let bytes = 0;
  for (const [name, { kind }] of Object.entries(kernel.parameters)) {
    if (kind === 'array') bytes += bytesIn(args[name]);
  }
  if (bytes <= MOST_BYTES) return;
  throw new OnememError(
    'VERIFY_SIZE',
    `kernel ${kernel.name} cannot be verified: its arguments have ${bytes} bytes, of which \`verify\` makes two copies; at most ${MOST_BYTES} are ` +
      'possible, so try it on less data',
  );
}

function copiesOf(
  kernel: Kernel,
  args: Readonly<Record<string, unknown>>,
  whole: boolean,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(kernel.parameters).map(([name, parameter]) => {
      if (parameter.kind !== 'array') return [name, args[name]];
      const copy = new Uint8Array(bytesIn(args[name]));
      if (!whole || parameter.use !== 'out') copyTo(copy, args[name]);
      return [name, viewOf(parameter.type as ElementType, copy.buffer)];
    }),
  );
}

function copyTo(target: Uint8Array, value: unknown): void {
  const part = managedPart(value);
  if (part === null) {
    const { buffer, byteOffset, byteLength } = value as NumericArray;
    target.set(new Uint8Array(buffer, byteOffset, byteLength));
  } else takeBytes(part.array, Number(part.begin) * bytesOf(part.array.type), target);
}

function differs(kernel: Kernel, what: string, details: Record<string, unknown>): OnememError {
  const globals =
    kernel.kernel === null ? [] : kernelSource(kernel.kernel as never, kernel.name).globals;
  const names = globals.length === 0 ? 'none' : globals.join(', ');
  const likely =
    kernel.kernel === null
      ? 'Its module is loaded here and on the device, each by itself, and keeps what it remembers apart.'
      : `On a device all names from outside are JavaScript's own globals (it uses ${names}): one that your module declares or imports is ` +
        'another there.';
  return new OnememError(
    'KERNEL_DIFFERS',
    `kernel ${kernel.name} does something else on the device than its function does here: ${what}. ${likely} It differs, too, if it uses ` +
      'random numbers, time, its unit, or what other parts write',
    { kernel: kernel.name, globals, ...details },
  );
}
