/** What this process has open. */
import { readdirSync, readlinkSync } from 'node:fs';

/** What each descriptor is of, as the kernel names it. */
export function openFiles(): string[] {
  return readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The one by which the folder is read.
      return '';
    }
  });
}
