/** What of a kernel a device runs. */
import type { AnyKernelCode } from '../drivers/driver.js';
import { argumentError, typeError } from './errors.js';
import type { Kernel } from './kernel.js';
import type { DeviceSeen } from './seen.js';
import { takesParts } from './wgsl-kernel.js';

/** @param whole whether the launch covers all of its size */
export function codeFor({ name, code, wgsl }: Kernel, device: DeviceSeen, whole: boolean): AnyKernelCode {
  if (device.capabilities.kernels === 'functions') {
    if (code.kind !== 'wgsl') return code;
    throw typeError(
      'KERNEL_LANGUAGE',
      `kernel ${name} is in WGSL only, and device ${device.name} (${device.kind}) runs functions; give it one: ` +
        'kernel(parameters, { wgsl, entryPoint, function })',
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
