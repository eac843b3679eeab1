/** Streams of devices: launches besides what every stream does. */
import type { StreamEvent as WireEvent } from '../../pager/protocol/operations.js';
import { pagesAround } from '../arrays/place.js';
import { checkKernel, type Kernel, type KernelParameters } from '../kernels/kernel.js';
import { explainStack, type Trace, traceTo } from '../kernels/kernel-place.js';
import {
  checkArgumentNames,
  checkArguments,
  handOver,
  refuseEmpty,
} from '../launches/launch-arguments.js';
import { checkWay, codeFor, workgroupOf } from '../launches/launch-code.js';
import { LAUNCH_OPTIONS, type LaunchOptions } from '../launches/launch-options.js';
import {
  countedOf,
  type LaunchRange,
  type LaunchSize,
  launchRange,
  sizePlace,
  workgroupRange,
} from '../launches/launch-size.js';
import { Staging } from '../launches/staging.js';
import { verifyLaunch } from '../launches/verify.js';
import { checkSignal, checkTimeout, reasonOf } from '../line/cancellation.js';
import type { ArraySeen, DeviceSeen, SpaceSeen } from '../line/seen.js';
import type * as api from '../public.js';
import type { LaunchArguments, ManagedElements } from '../public.js';
import { checkFlag, checkOptions } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';
import { HostStream } from './host-stream.js';
import type { StreamEvent } from './stream-event.js';

/** What stands in for a size that is read when the launch's turn has come: it runs as a whole. */
const UNKNOWN = { begin: 0, end: 1, size: 1 } as const;

export class Stream extends HostStream implements api.Stream {
  constructor(
    space: api.AddressSpace & SpaceSeen,
    readonly device: api.Device & DeviceSeen,
    signal: AbortSignal | null = null,
    private readonly timeoutMs: number | null = null,
    single = false,
  ) {
    super(space, signal, single, device);
  }

  launch<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): StreamEvent {
    this.assertOpen();
    this.device.assertUsable();
    checkKernel(kernel);
    checkArgumentNames(kernel as Kernel, args);
    checkOptions(`a launch of kernel ${kernel.name}`, options, LAUNCH_OPTIONS, '{ size: 1000 }');
    const { begin: from, end: to } = options;
    const counted = countedOf(options);
    const workgroup = counted === 'workgroups' ? workgroupOf(kernel as Kernel, this.device) : null;
    const extent = (counted === 'workgroups' ? options.workgroups : options.size) as LaunchSize;
    const sized = sizePlace(this.space, extent, counted, from, to);
    const range = sized === null ? rangeOf(extent, workgroup, from, to) : UNKNOWN;
    const { begin, end, size } = range;
    const whole = begin === 0 && end === size;
    const runs = begin < end;
    const code = codeFor(kernel as Kernel, this.device, whole || !runs);
    const given = checkArguments(this.space, kernel as Kernel, code, args);
    if (runs) refuseEmpty(kernel as Kernel, given, this.device);
    const { signal, timeoutMs } = options;
    checkSignal(signal);
    checkTimeout(timeoutMs, this.device);
    checkFlag('verify of a launch', options.verify);
    if (sized !== null && options.verify === true)
      throw argumentError(
        'OPTIONS',
        'a launch whose size stands in an array cannot be verified; leave out verify, or give its size',
      );
    const { way } = options;
    checkWay(way, this.device);
    const launched = traceTo(this.launch);
    // Nothing is staged for what will not run.
    if (signal?.aborted === true)
      return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    if (!runs) return this.add({ kind: 'marker' }, signal);
    const verified =
      sized === null && (options.verify ?? this.space.verifies)
        ? this.callback(
            () => verifyLaunch(this.device, kernel as Kernel, args, { begin, end, size }),
            true,
          )
        : null;
    const staging = new Staging(this.space, `kernel ${kernel.name}`, this.order);
    const handed = staging.attempt(() => handOver(kernel, given, whole, staging));
    if (sized !== null) handed.arrays.push(pagesAround(sized));
    const operation = {
      kind: 'launch',
      device: this.device.number,
      kernelName: kernel.name,
      code,
      ...handed,
      ...range,
      timeoutMs: timeoutMs ?? this.timeoutMs,
      last: this.single,
      ...(way === undefined ? {} : { way }),
      ...(sized === null
        ? {}
        : {
            indirect: {
              offset: sized.offset,
              numbers: sized.length,
              ...(workgroup && { workgroup }),
            },
          }),
    } as const;
    const event = this.addStaged(operation, staging, signal);
    const arrays: { readonly array: ArraySeen; readonly emptied: boolean }[] = [];
    for (const each of given) {
      if (each.kind !== 'array' || each.use === 'in' || each.place === null) continue;
      const { array, bytes } = each.place;
      // Where its size was 0 nothing has been emptied.
      arrays.push({
        array,
        emptied: whole && sized === null && each.use === 'out' && bytes === array.byteLength,
      });
    }
    event.onEnd = (ended) => {
      for (const { array, emptied } of arrays) {
        // Ranges are named where the launch had begun; of one that had not, nothing has been
        // touched.
        const unsure = (ended.error?.details.ranges as unknown[] | undefined) ?? [];
        if (unsure.length > 0) array.indeterminate = true;
        else if (ended.result === 'done' && emptied) array.indeterminate = false;
      }
      const failure = verified?.failure ?? null;
      if (ended.result === 'cancelled' && failure !== null)
        ended = { ...ended, result: 'failed', error: failure };
      const shown = explained(ended, kernel as Kernel, launched);
      return staging.end(shown) ?? shown;
    };
    return event;
  }

  exclusive(part: ManagedElements): StreamEvent {
    this.device.assertUsable();
    return this.bring('make exclusive', part, this.device.number, true);
  }
}

/** @param workgroup set where `extent` counts workgroups */
function rangeOf(
  extent: LaunchSize,
  workgroup: readonly [number, number, number] | null,
  begin: unknown,
  end: unknown,
): LaunchRange {
  return workgroup === null
    ? launchRange(extent, begin, end)
    : workgroupRange(extent, workgroup, begin, end);
}

/** The event of a launch, in which an error of the kernel shows the author's own files. */
function explained(ended: WireEvent, { name, kernel }: Kernel, launched: Trace): WireEvent {
  const { error } = ended;
  if (error?.code !== 'KERNEL_ERROR' || error.stack === undefined) return ended;
  return {
    ...ended,
    error: { ...error, stack: explainStack(name, kernel, error.stack, launched) },
  };
}
