/** The program of Node.js that runs this process, to start others with. */
import { existsSync } from 'node:fs';

/** The file may have been replaced, as by an upgrade: the kernel still has the old one. */
export function nodeBinary(): string {
  return existsSync(process.execPath) ? process.execPath : '/proc/self/exe';
}
