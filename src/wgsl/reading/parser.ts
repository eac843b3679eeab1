/** Loads the parser with the first module: an optional package, for programs with WGSL. */
import type { Parser } from './syntax.js';

export async function loadParser(): Promise<Parser> {
  try {
    return await import('wesl/core');
  } catch (cause) {
    throw new Error(
      'cannot read WGSL: the package wesl is not installed; run: npm install wesl@^0.7.31',
      { cause },
    );
  }
}
