/** Loads the modules of kernels that run here: of devices without a process. */

import type { KernelCode } from '../../../drivers/driver.js';
import { compileKernel, type KernelFunction, loadKernel } from '../../../drivers/kernel-loader.js';
import { kernelError } from '../../../messages/kernel-error.js';
import type { Loading } from '../../core/loading.js';
import { wireError } from '../../protocol/wire.js';
import { type Launch, messageOf } from '../launch.js';
import type { Stage } from './stage.js';

export class KernelModules implements Stage {
  private readonly modules = new Map<string, KernelFunction>();

  constructor(private readonly loading: Loading) {}

  run(launch: Launch, done: () => void): void {
    const { code, kernelName } = launch.operation;
    const isHere = launch.device.process === null && code.kind === 'module';
    if (!isHere || this.modules.has(keyOf(code))) {
      done();
      return;
    }
    this.loading.wait(
      loadKernel(code),
      (kernel) => {
        this.modules.set(keyOf(code), kernel);
        done();
      },
      (error) => {
        const failure = { code: 'KERNEL_ERROR', message: kernelError(error).message } as const;
        const message = messageOf(failure, kernelName);
        launch.fail(wireError(failure.code, message, { kernel: kernelName }));
        done();
      },
    );
  }

  /** The function of a kernel; its module has been loaded before. */
  readonly kernelOf = (code: KernelCode): KernelFunction => {
    if (code.kind === 'inline') return compileKernel(code.source);
    const loaded = this.modules.get(keyOf(code));
    if (loaded === undefined) throw new Error(`module ${code.url} is not loaded`);
    return loaded;
  };
}

function keyOf(code: Extract<KernelCode, { kind: 'module' }>): string {
  return `${code.exportName} ${code.url}`;
}
