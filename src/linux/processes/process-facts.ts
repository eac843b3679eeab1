/** What the system tells of a process of this user. */
import { readFileSync } from 'node:fs';

export interface ProcessFacts {
  readonly pid: number;
  /** Its command line, with blanks between the arguments. */
  readonly command: string;
  readonly pageTableBytes: number;
}

/** Null: it has ended. */
export function factsOf(pid: number): ProcessFacts | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    const [, kibibytes = '0'] = /^VmPTE:\s*(\d+) kB/m.exec(status) ?? [];
    return { pid, command, pageTableBytes: Number(kibibytes) * 1024 };
  } catch {
    return null;
  }
}
