/** Files of the kernel that tell something, as text. */
import { readFileSync } from 'node:fs';

export type ReadText = (path: string) => string | null;

/**
 * Reads files; null: there is none, or it cannot be read.
 * @param root stands before each path: '' is this machine
 */
export function textReader(root: string): ReadText {
  return (path) => {
    try {
      return readFileSync(root + path, 'latin1');
    } catch {
      return null;
    }
  };
}

export const readText = textReader('');
