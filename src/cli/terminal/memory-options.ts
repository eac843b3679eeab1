/** How much memory a space may take, as command lines say it. */
import { AUTO } from '../../api/options/host-memory.js';
import type { SlowMemorySpecification } from '../../api/options/slow-memory.js';
import type { StorageSpecification } from '../../api/options/storage.js';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { LEAST_HOST_BYTES } from '../../policy/host-budget.js';
import { UsageError } from './failure.js';
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

/** How values of `slowMemory` are read from text, by its names. */
const SLOW_MEMORY: Record<keyof SlowMemorySpecification, (text: string) => number | string> = {
  path: String,
  node: Number,
  bytes: String,
  latencyUs: Number,
  bandwidth: String,
};

/** NAME=VALUE,NAME=VALUE: what the values may be is for the space to say. */
export function slowMemoryFrom(said: string | undefined): SlowMemorySpecification | undefined {
  if (said === undefined) return undefined;
  const entries = said.split(',').map((part) => {
    const [, name = '', text = ''] = /^(\w+)=(.+)$/.exec(part) ?? [];
    if (!Object.hasOwn(SLOW_MEMORY, name))
      throw new UsageError(
        `--slow-memory: '${part}' is none of ${Object.keys(SLOW_MEMORY)
          .map((known) => `${known}=`)
          .join(', ')}; write such as --slow-memory bytes=1GiB,bandwidth=30GB`,
      );
    return [name, SLOW_MEMORY[name as keyof SlowMemorySpecification](text)];
  });
  return Object.fromEntries(entries);
}
