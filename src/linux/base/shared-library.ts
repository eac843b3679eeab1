/**
 * Shared libraries other than the C library, their functions, and functions of ours that they call.
 * Handles and addresses are plain numbers, as in libc.ts. Callbacks come within calls that this
 * thread makes, and in no other way: nothing is ever called asynchronously.
 */
import { koffi, rawView, uncut } from './libc.js';

export class SharedLibrary {
  private readonly library: ReturnType<typeof koffi.load>;

  /** Throws what the dynamic loader says. */
  constructor(path: string) {
    this.library = uncut(() => koffi.load(path));
  }

  has(name: string): boolean {
    try {
      uncut(() => this.library.symbol(name));
      return true;
    } catch {
      return false;
    }
  }

  /** @param prototype in C; it may name structures that have been declared */
  declare<F extends (...args: never[]) => unknown>(prototype: string): F {
    return uncut(() => this.library.func(prototype)) as unknown as F;
  }
}

/** Declares a structure that C functions take or give by value. Types in order, as C's. */
export function declareStructure(name: string, members: Readonly<Record<string, string>>): void {
  uncut(() => koffi.struct(name, { ...members }));
}

/** The address of a C function that calls `listener`; it lasts as long as the thread. */
export function callbackAddress(
  types: readonly string[],
  listener: (...args: never[]) => void,
): number {
  return uncut(() =>
    Number(koffi.register(listener, koffi.pointer(koffi.proto('void', [...types])))),
  );
}

/** Text of so many bytes in UTF-8. */
export function textAt(address: number, bytes: number): string {
  return address === 0 || bytes === 0 ? '' : Buffer.from(rawView(address, bytes)).toString();
}
