/**
 * Where the binary of the foreign function interface is. Its package looks for it anew in each
 * thread and process, which takes a fifth of the time that a thread needs to start; so a thread
 * that has found it tells those that it starts.
 */
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Under which name threads say it; the number is that of the package's words. */
const BINARY = 'onemem: binary of koffi 3';

/** Undefined: it has not been looked for yet. */
export function knownBinary(): string | undefined {
  return getEnvironmentData(BINARY) as string | undefined;
}

/** From now on this thread knows it, and those that it starts. */
export function noteBinary(file: string | undefined): void {
  if (file !== undefined) setEnvironmentData(BINARY, file);
}
