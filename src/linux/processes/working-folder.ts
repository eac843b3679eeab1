/** The folder in which this process works, which may be removed while it does. */
import { existsSync, readlinkSync } from 'node:fs';

/** Whether it has been removed: Node.js starts no thread in it then. */
export function workingFolderIsGone(): boolean {
  try {
    // The kernel marks the name of a folder that is not there any more.
    return !existsSync(readlinkSync('/proc/thread-self/cwd'));
  } catch {
    // There is no /proc.
    return false;
  }
}
