/** Streams of devices: launches besides what every stream does. */
import type { StreamEvent as WireEvent } from '../../pager/protocol/operations.js';
import type { Kernel, KernelParameters } from '../kernels/kernel.js';
import { explainStack, type Trace, traceTo } from '../kernels/kernel-place.js';
import { LaunchCall } from '../launches/launch-call.js';
import type { LaunchOptions } from '../launches/launch-options.js';
import { Staging } from '../launches/staging.js';
import { verifyLaunch } from '../launches/verify.js';
import { reasonOf } from '../line/cancellation.js';
import type { ArrayInternals, DeviceInternals, SpaceInternals } from '../line/internals.js';
import type * as api from '../public.js';
import type { LaunchArguments, ManagedElements } from '../public.js';
import { HostStream } from './host-stream.js';
import type { StreamEvent } from './stream-event.js';

export class Stream extends HostStream implements api.Stream {
  constructor(
    space: api.AddressSpace & SpaceInternals,
    readonly device: api.Device & DeviceInternals,
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
    const call = LaunchCall.read(this.space, this.device, kernel as Kernel, args, options);
    const { signal, timeoutMs } = options;
    const { given, whole } = call;
    const { sized, range } = call.extent;
    const launched = traceTo(this.launch);
    // Nothing is staged for what will not run.
    if (signal?.aborted === true)
      return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    if (!call.runs) return this.add({ kind: 'marker' }, signal);
    const verified =
      sized === null && (options.verify ?? this.space.verifies)
        ? this.callback(() => verifyLaunch(this.device, kernel as Kernel, args, range), true)
        : null;
    const staging = new Staging(this.space, `kernel ${kernel.name}`, this.order, this.device);
    const request = call.request(staging, timeoutMs ?? this.timeoutMs);
    const operation = { ...request, last: this.single };
    const event = this.addStaged(operation, staging, signal);
    const arrays: { readonly array: ArrayInternals; readonly emptied: boolean }[] = [];
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

/** The event of a launch, in which an error of the kernel shows the author's own files. */
function explained(ended: WireEvent, { name, kernel }: Kernel, launched: Trace): WireEvent {
  const { error } = ended;
  if (error?.code !== 'KERNEL_ERROR' || error.stack === undefined) return ended;
  return {
    ...ended,
    error: { ...error, stack: explainStack(name, kernel, error.stack, launched) },
  };
}
