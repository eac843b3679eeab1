/** Loads the reader of WGSL, an optional peer, at once, from where the program found it. */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Parser } from '../../../wgsl/reading/syntax.js';

/** @param module the URL of its module */
export function requireParser(module: string): Parser {
  return createRequire(import.meta.url)(fileURLToPath(module)) as Parser;
}
