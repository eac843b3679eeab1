/** Arrays that a module of the user's fills. */
import type { ElementType } from '../../core/basics/elements.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { ProviderSource } from '../../pager/protocol/providers.js';
import { exportOf, moduleUrl } from '../kernels/kernel.js';
import { checkSendable, show } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';

/** How long a provider may take for one part. */
const TIMEOUT_MS = 30_000;

/** Options of `space.providedArray`. */
export interface ProvidedArrayOptions<D = unknown> {
  /** The module with the function, such as `new URL('./fill.js', import.meta.url)`. */
  readonly module: URL | string;
  /** Its export; 'default' by default. */
  readonly export?: string;
  /** Passed with each request; copied once by structured clone. It may have handles of arrays. */
  readonly data?: D;
  /** Whether the array may be written. Written pages are kept. */
  readonly writable?: boolean;
  /**
   * The most milliseconds of a call, 30,000 by default. After that all absent pages fail for good.
   */
  readonly timeoutMs?: number;
  readonly name?: string;
}

/** In messages. */
export const PROVIDED_EXAMPLE = "{ module: new URL('./provider.js', import.meta.url) }";
export const PROVIDED_ARRAY_OPTIONS: OptionNames<ProvidedArrayOptions> = {
  module: true,
  export: true,
  data: true,
  writable: true,
  timeoutMs: true,
  name: true,
};

/** Checks what can be checked before the module is loaded. */
export function providerSource(
  name: string,
  type: ElementType,
  length: number,
  options: ProvidedArrayOptions,
): ProviderSource {
  const { module, timeoutMs = TIMEOUT_MS, data } = options;
  const exportName = exportOf('PROVIDER_MODULE', options.export);
  if (!(Number.isFinite(timeoutMs) && timeoutMs > 0)) {
    throw argumentError(
      'TIMEOUT_MS',
      `timeoutMs of array ${name} is ${show(timeoutMs)}; it must be a number of milliseconds above 0`,
    );
  }
  const url = moduleUrl('PROVIDER_MODULE', module);
  const what = `data of array ${name} cannot be sent to the thread of its provider`;
  checkSendable('PROVIDER_DATA', what, data);
  return { url, exportName, data, timeoutMs, type, length };
}
