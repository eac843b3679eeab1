/** The driver of a GPU: with an engine of its own, or lent by a thread of the program. */
import { DeviceProcess } from '../process/device-process.js';
import type { ProcessEvents } from '../process-driver.js';
import { WebgpuDevice, type WebgpuDeviceOptions } from './device.js';
import { LentDevice } from './lent-device.js';
import type { LentPlace } from './link/lent.js';
import { Staging } from './link/staging.js';

/** @param program the module that the engine's process runs (engine.ts) */
export function openWebgpu(
  options: WebgpuDeviceOptions & { readonly lent?: LentPlace },
  program: URL,
  events: ProcessEvents,
): WebgpuDevice {
  const { name, host, lent } = options;
  if (lent !== undefined) return new LentDevice(options, lent, events);
  const staging = Staging.open(`onemem-${name}-staging`);
  try {
    const process = new DeviceProcess({
      name,
      program,
      nodeOptions: [],
      descriptors: [host.fd, staging.fd],
    });
    return new WebgpuDevice(options, events, process, staging);
  } catch (error) {
    staging.close();
    throw error;
  }
}
