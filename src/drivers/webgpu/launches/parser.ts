/**
 * Loads what reads WGSL, an optional peer, at once: in the manager by the address that the program
 * has found it at.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Parser } from '../../../wgsl/reading/syntax.js';

/** @param module the URL of its module */
export function requireParser(module: string): Parser {
  return createRequire(import.meta.url)(fileURLToPath(module)) as Parser;
}
