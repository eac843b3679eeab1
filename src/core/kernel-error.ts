/** What a kernel threw, in words. A kernel may throw anything, also what has no text or fails when it is asked for it. */

export interface KernelError {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

/** Errors of another realm, such as those of vm contexts, are no instances of this one's class. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}

export function kernelError(thrown: unknown): KernelError {
  try {
    if (isError(thrown)) {
      const { name, message, stack } = thrown as { name: unknown; message: unknown; stack?: unknown };
      return { name: String(name), message: String(message), stack: typeof stack === 'string' ? stack : '' };
    }
    return { name: typeof thrown, message: String(thrown), stack: '' };
  } catch {
    return { name: typeof thrown, message: 'something that has no text', stack: '' };
  }
}

/** For a device without a thread that could wait: what the kernel does later it would do to copies that the device does not use any more. */
export function refuseAsynchronous(result: unknown): void {
  if (!(result instanceof Promise)) return;
  result.catch(() => undefined);
  throw new TypeError('this device runs no asynchronous kernels; make it a plain function, or use a process device');
}
