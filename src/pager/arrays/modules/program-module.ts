/** Modules of the program whose functions run in the manager's thread: guards and notifiers. */
import { types } from 'node:util';
import { kernelError } from '../../../messages/kernel-error.js';
import { missingModule } from '../../../messages/missing-module.js';
import { inTime } from '../../core/in-time.js';

/** How long a module may take until what is made of it is there. */
const LOADING_MS = 10_000;

/** Imports a module. */
export type Load = (url: string) => Promise<Record<string, unknown>>;

/** What is wrong with a module, as the rest of a sentence that names its export. */
export class Unfit extends Error {}

/**
 * What `make` makes of the function that a module exports. Rejects with an Error whose message
 * continues a sentence that names the export.
 */
export async function fromModule<F, T>(
  { url, exportName }: { readonly url: string; readonly exportName: string },
  load: Load,
  make: (exported: F) => T | Promise<T>,
): Promise<T> {
  const made = async (): Promise<T> => {
    const module = await load(url);
    const exported = module[exportName];
    if (typeof exported === 'function') return await make(exported as F);
    const names = Object.keys(module).join(', ') || 'nothing';
    throw new Unfit(`is no function; the module exports ${names}`);
  };
  const late = new Unfit(`gave nothing within ${LOADING_MS / 1000} s`);
  try {
    return await inTime(made(), LOADING_MS, late);
  } catch (error) {
    if (error instanceof Unfit) throw error;
    const missing = missingModule(url, error);
    const why = missing === null ? `threw ${textOf(error)}` : `cannot be loaded: ${missing}`;
    throw new Unfit(why, { cause: error });
  }
}

export function textOf(error: unknown): string {
  const { name, message } = kernelError(error);
  return types.isNativeError(error) ? `${name}: ${message}` : message;
}
