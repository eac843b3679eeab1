/** How much memory a space may take, as command lines say it. */
import { AUTO } from '../../api/options/host-memory.js';
import type { StorageSpecification } from '../../api/options/storage.js';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { LEAST_HOST_BYTES } from '../../policy/host-budget.js';
import { sizeInBytes } from './options.js';

/** Of storage, and of a server behind it. */
export const LEAST_STORED = { bytes: BLOCK_BYTES };

export function hostMemoryFrom(said: string | undefined): number | typeof AUTO | undefined {
  return said === AUTO ? AUTO : sizeInBytes('host-memory', said, { bytes: LEAST_HOST_BYTES });
}

export function storageFrom(said: string | undefined): StorageSpecification | false | undefined {
  if (said === undefined) return undefined;
  if (said === 'none') return false;
  const [, path = said, size] = /^(.+):(-?\d[^/]*)$/.exec(said) ?? [];
  return {
    path,
    ...(size === undefined ? {} : { bytes: sizeInBytes('storage', size, LEAST_STORED) as number }),
  };
}
