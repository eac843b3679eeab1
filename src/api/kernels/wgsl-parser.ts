/** Loads what reads WGSL, an optional peer, with the first kernel that is written in it. */
import { requireParser } from '../../drivers/webgpu/launches/parser.js';
import type { Overrides } from '../../wgsl/reading/constants.js';
import { type Description, describe, missingOverrides } from '../../wgsl/reading/describe.js';
import { type Override, overridesIn } from '../../wgsl/reading/overrides.js';
import type { Parser } from '../../wgsl/reading/syntax.js';
import { textOf } from '../values/arguments.js';
import { OnememError } from '../values/errors.js';

let loaded: Parser | null = null;

export function parserModule(): string {
  return import.meta.resolve('wesl/core');
}

/** At once: `kernel()` refuses a module where it is called. */
function parser(): Parser {
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

/** @throws WgslError with line and column */
export function describeWgsl(
  source: string,
  entryPoint: string | undefined,
  overrides: Overrides,
): Description {
  return describe(parser(), source, entryPoint, { overrides });
}

/** @throws WgslError with line and column */
export function overridesOf(source: string): Override[] {
  return overridesIn(parser(), source);
}

/** @throws WgslError with line and column */
export function overridesWithoutValue(
  source: string,
  entryPoint: string | undefined,
  overrides: Overrides,
): Override[] {
  return missingOverrides(parser(), source, entryPoint, overrides);
}
