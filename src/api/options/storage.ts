/** Where pages go that host memory has no room for. */
import { accessSync, constants, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { isInMemory } from '../../linux/files/set-aside.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { StorageOptions } from '../../pager/protocol/space.js';
import { checkOptions, show } from '../values/arguments.js';
import { argumentError, OnememError, warn } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import { MOST_STORED_BYTES, storeBudget } from '../values/sizes.js';

/** The spill file behind host memory. */
export interface StorageSpecification {
  /** A folder; by default the temporary one, or /var/tmp if that is in memory. */
  readonly path?: FilePath;
  /** The most bytes of the file; by default half of the disk's free space. */
  readonly bytes?: number | string;
}

const STORAGE_OPTIONS: OptionNames<StorageSpecification> = { path: true, bytes: true };

/** Of the free space of a disk, what a space may use unless it is told. */
const SHARE = 0.5;

/** What was said about storage, or the usual; null: none. */
export function storageOf(said: StorageSpecification | boolean | undefined): StorageOptions | null {
  if (said === false) return null;
  if (said === undefined) return usualStorage();
  if (said !== true && (typeof said !== 'object' || said === null))
    throw argumentError(
      'STORAGE',
      `storage is ${show(said)}; it must be false, true or { path, bytes }`,
    );
  if (said !== true) checkOptions('storage', said, STORAGE_OPTIONS);
  if (said === true || said.path === undefined) {
    const usual = usualStorage();
    if (usual === null)
      throw argumentError(
        'STORAGE',
        `storage ${said === true ? 'is true' : 'has no path'}, and no temporary folder is on a disk; say storage: { path }`,
      );
    return said === true || said.bytes === undefined ? usual : ofBytes(usual.path, said.bytes);
  }
  const path = resolve(pathOf(said.path));
  checkFolder(path);
  if (said.bytes !== undefined) return ofBytes(path, said.bytes);
  const bytes = freeShare(path);
  if (bytes > 0) return { path, bytes };
  throw new OnememError(
    'STORAGE',
    `storage.path is ${path}: its file system has no ${BLOCK_BYTES / SHARE} bytes free; name a folder on a disk with room, or say bytes`,
    { path },
  );
}

/** A budget beyond the disk's room is allowed, since there may be more later, and warned of. */
function ofBytes(path: string, said: number | string): StorageOptions {
  const bytes = storeBudget('storage.bytes', said);
  const { bavail, bsize } = statfsSync(path);
  if (bytes > bavail * bsize)
    warn(
      'ONEMEM_STORAGE',
      `storage.bytes is ${bytes}, and the disk of ${path} has ${bavail * bsize} bytes left; when these are used up, what needs room waits for it, and fails with OUT_OF_STORAGE`,
    );
  return { path, bytes };
}

function checkFolder(path: string): void {
  let problem: string | null = null;
  try {
    if (!statSync(path).isDirectory()) problem = 'it is no folder';
    else accessSync(path, constants.W_OK | constants.X_OK);
  } catch (error) {
    problem = (error as Error).message;
  }
  if (problem !== null)
    throw new OnememError(
      'STORAGE',
      `storage.path is ${path}: ${problem}; name a folder that this process may write in`,
      {
        path,
      },
    );
}

/** The usual: where temporary files are, if that is a disk with room. */
export function usualStorage(): StorageOptions | null {
  for (const path of [tmpdir(), '/var/tmp']) {
    try {
      accessSync(path, constants.W_OK | constants.X_OK);
      if (isInMemory(path)) continue;
      const bytes = freeShare(path);
      if (bytes > 0) return { path, bytes };
    } catch {
      // A folder that is not there, or not for this process.
    }
  }
  return null;
}

function freeShare(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return Math.min(
    Math.floor((bavail * bsize * SHARE) / BLOCK_BYTES) * BLOCK_BYTES,
    MOST_STORED_BYTES,
  );
}
