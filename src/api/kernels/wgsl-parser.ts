/** Loads what reads WGSL, an optional peer, with the first kernel that is written in it. */
import { requireParser } from '../../drivers/webgpu/launches/parser.js';
import type { Parser } from '../../wgsl/reading/syntax.js';
import { packageMissing } from '../values/packages.js';

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
    throw packageMissing('kernels in WGSL are read by', 'wesl', error, ' webgpu');
  }
}
