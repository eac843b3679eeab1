/** Shared libraries other than the C library, and their functions. Handles and addresses are plain numbers, as in libc.ts. */
import { koffi } from './libc.js';

export class SharedLibrary {
  private readonly library: ReturnType<typeof koffi.load>;

  /** Throws what the dynamic loader says. */
  constructor(path: string) {
    this.library = koffi.load(path);
  }

  /** @param prototype in C */
  declare<F extends (...args: never[]) => unknown>(prototype: string): F {
    return this.library.func(prototype) as unknown as F;
  }
}
