/** Names of files: paths, and URLs such as `new URL('./x.npy', import.meta.url)`. */
import { fileURLToPath } from 'node:url';
import { isObject, show } from './arguments.js';
import { typeError } from './errors.js';

export type FilePath = string | URL;

/** The path, or an error that says what was handed in instead. */
export function pathOf(file: unknown): string {
  if (typeof file === 'string' && file !== '') return file;
  // Not by `instanceof`: a test runner may have a URL of its own.
  if (
    isObject(file) &&
    typeof (file as URL).href === 'string' &&
    typeof (file as URL).protocol === 'string'
  ) {
    const { href, protocol } = file as URL;
    if (protocol !== 'file:')
      throw typeError('FILE_PATH', `${show(href)} is no file: URL; only files can be opened`);
    try {
      return fileURLToPath(href);
    } catch (error) {
      throw typeError(
        'FILE_PATH',
        `${show(href)} names no file of this machine: ${(error as Error).message}`,
      );
    }
  }
  throw typeError(
    'FILE_PATH',
    `a file is named by its path or its file: URL, not by ${show(file)}`,
  );
}
