/** What a program asks for by a launch, looked at before it is handed to the manager. */
import type { LaunchWay } from '../../drivers/wgsl-launch.js';
import type { LaunchRequest } from '../../pager/protocol/operations.js';
import { type Place, pagesAround } from '../arrays/parts/place.js';
import { checkKernel, type Kernel } from '../kernels/kernel.js';
import { checkSignal, checkTimeout } from '../line/cancellation.js';
import type { DeviceInternals, SpaceInternals } from '../line/internals.js';
import { checkFlag, checkOptions } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';
import {
  checkArgumentNames,
  checkArguments,
  handOver,
  type LaunchArgument,
  refuseEmpty,
} from './launch-arguments.js';
import { checkWay, codeFor, workgroupOf } from './launch-code.js';
import { LAUNCH_OPTIONS, type LaunchOptions } from './launch-options.js';
import {
  countedOf,
  type LaunchRange,
  type LaunchSize,
  launchRange,
  sizePlace,
  workgroupRange,
} from './launch-size.js';
import type { Staging } from './staging.js';

/** What stands in for a size that is read when the launch's turn has come: it runs as a whole. */
const UNKNOWN = { begin: 0, end: 1, size: 1 } as const;

/** How much it runs over. */
interface LaunchExtent {
  readonly range: LaunchRange;
  /** Where its size stands, if that is in an array. */
  readonly sized: Place | null;
  /** Work items of a workgroup, where its size counts workgroups. */
  readonly workgroup: readonly [number, number, number] | null;
}

export class LaunchCall {
  private constructor(
    private readonly kernel: Kernel,
    private readonly device: DeviceInternals,
    private readonly code: LaunchRequest['code'],
    readonly given: readonly LaunchArgument[],
    readonly extent: LaunchExtent,
    private readonly way: LaunchWay | undefined,
  ) {}

  /** Throws what is wrong with what the program hands in. */
  static read(
    space: SpaceInternals,
    device: DeviceInternals,
    kernel: Kernel,
    args: Readonly<Record<string, unknown>>,
    options: LaunchOptions,
  ): LaunchCall {
    checkKernel(kernel);
    checkArgumentNames(kernel, args);
    checkOptions(`a launch of kernel ${kernel.name}`, options, LAUNCH_OPTIONS, '{ size: 1000 }');
    const { begin: from, end: to, signal, timeoutMs, way } = options;
    const counted = countedOf(options);
    const workgroup = counted === 'workgroups' ? workgroupOf(kernel, device) : null;
    const extent = (counted === 'workgroups' ? options.workgroups : options.size) as LaunchSize;
    const sized = sizePlace(space, extent, counted, from, to);
    const range = sized === null ? rangeOf(extent, workgroup, from, to) : UNKNOWN;
    const runs = range.begin < range.end;
    const code = codeFor(kernel, device, isWhole(range) || !runs);
    const given = checkArguments(space, kernel, code, args);
    if (runs) refuseEmpty(kernel, given, device);
    checkSignal(signal);
    checkTimeout(timeoutMs, device);
    checkFlag('verify of a launch', options.verify);
    if (sized !== null && options.verify === true)
      throw argumentError(
        'OPTIONS',
        'a launch whose size stands in an array cannot be verified; leave out verify, or give its size',
      );
    checkWay(way, device);
    return new LaunchCall(kernel, device, code, given, { range, sized, workgroup }, way);
  }

  /** Whether it covers all of its size. */
  get whole(): boolean {
    return isWhole(this.extent.range);
  }

  /** Whether there is anything to run. */
  get runs(): boolean {
    const { begin, end } = this.extent.range;
    return begin < end;
  }

  /** The launch in the words of the manager; typed arrays of the program's own are staged. */
  request(staging: Staging, timeoutMs: number | null): LaunchRequest {
    const { kernel, device, code, given, way } = this;
    const { range, sized, workgroup } = this.extent;
    const handed = staging.attempt(() => handOver(kernel, given, this.whole, staging));
    if (sized !== null) handed.arrays.push(pagesAround(sized));
    const indirect = sized && {
      offset: sized.offset,
      numbers: sized.length,
      ...(workgroup && { workgroup }),
    };
    return {
      kind: 'launch',
      device: device.number,
      kernelName: kernel.name,
      code,
      ...handed,
      ...range,
      timeoutMs,
      ...(way === undefined ? {} : { way }),
      ...(indirect && { indirect }),
    };
  }
}

function isWhole({ begin, end, size }: LaunchRange): boolean {
  return begin === 0 && end === size;
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
