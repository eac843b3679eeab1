/** Loads what reads WGSL, an optional peer, with the first kernel that is written in it. */
import { requireParser } from '../../drivers/webgpu/launches/parser.js';
import type { Parser } from '../../wgsl/reading/syntax.js';
import { textOf } from '../values/arguments.js';
import { OnememError } from '../values/errors.js';

let loaded: Parser | null = null;

export function parserModule(): string {
  return import.meta.resolve('wesl/core');
}

/** At once: `kernel()` refuses a module where it is called. */
export function parser(): Parser {
  try {
    loaded ??= requireParser(parserModule());
    return loaded;
  } catch (error) {
    throw new OnememError(
      'PACKAGE_MISSING',
      `kernels in WGSL are read by the package 'wesl', which cannot be loaded (${textOf(error)}); install it: npm install wesl webgpu`,
      {},
      { cause: error },
    );
  }
}
