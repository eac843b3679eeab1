/** What of a kernel a device runs. */
import type { AnyKernelCode, LaunchWay } from '../../drivers/wgsl-launch.js';
import type { Kernel } from '../kernels/kernel.js';
import { takesParts } from '../kernels/wgsl-kernel.js';
import type { DeviceInternals } from '../line/internals.js';
import { show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';

/** @param whole whether the launch covers all of its size */
export function codeFor(
  { name, code, wgsl }: Kernel,
  device: DeviceInternals,
  whole: boolean,
): AnyKernelCode {
  if (device.capabilities.kernels === 'functions') {
    if (code.kind !== 'wgsl') return code;
    throw typeError(
      'KERNEL_LANGUAGE',
      `kernel ${name} is in WGSL only, and device ${device.name} (${device.kind}) runs functions; give it one: ` +
        'kernel(parameters, { wgsl, entryPoint, function }), or of TypeGPU: { typegpu, module: import.meta.url, export }',
    );
  }
  if (wgsl === null) {
    throw typeError(
      'KERNEL_LANGUAGE',
      `kernel ${name} is a function only, and device ${device.name} (${device.kind}) runs modules in WGSL; give it one: ` +
        'kernel(parameters, { wgsl, entryPoint, function })',
    );
  }
  if (whole || takesParts(wgsl)) return wgsl;
  throw argumentError(
    'LAUNCH_RANGE',
    `kernel ${name} cannot run over a part: its module is not told which one; have a uniform structure with members begin: u32 and ` +
      'end: u32 in it, or launch all of [0, size)',
  );
}

/** Work items of a workgroup of what the device runs, for a launch that counts workgroups. */
export function workgroupOf(
  kernel: Kernel,
  device: DeviceInternals,
): readonly [number, number, number] {
  const code = codeFor(kernel, device, true);
  if (code.kind === 'wgsl') return code.workgroupSize;
  throw argumentError(
    'SIZE',
    `kernel ${kernel.name} has no workgroups on device ${device.name} (${device.kind}), which runs functions; ` +
      'say by size how many work items there are',
  );
}

const WAYS: readonly unknown[] = ['direct', 'windowed', 'paged'] satisfies LaunchWay[];

/** Refuses what is no way to run a launch, and a way for devices that know one only. */
export function checkWay(way: unknown, device: DeviceInternals): void {
  if (way === undefined) return;
  if (!WAYS.includes(way))
    throw typeError(
      'OPTIONS',
      `way of a launch is 'direct', 'windowed' or 'paged', not ${show(way)}`,
    );
  if (device.capabilities.kernels === 'wgsl') return;
  throw typeError(
    'OPTIONS',
    `device ${device.name} (${device.kind}) runs every launch as it is; leave out way`,
  );
}
