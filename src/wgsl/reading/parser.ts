/**
 * Loads the parser of WGSL with the first module that is read: an optional package, which programs
 * without WGSL need not install.
 */
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
