/** What a process holds, as the kernel and the engine count it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import koffi from 'koffi';

export interface Holdings {
  readonly descriptors: number;
  readonly mappings: number;
  readonly threads: number;
  /** Child processes, with those that have ended and wait to be reaped. */
  readonly children: number;
  /** Memory files of ours that are open. */
  readonly memoryFiles: number;
  /** Mappings where spaces lie. */
  readonly spaces: number;
  /** Memory of its own: not that of spaces, nor of files. */
  readonly privateBytes: number;
  readonly heapBytes: number;
  /** What the engine holds outside its heap for this thread. */
  readonly externalBytes: number;
}

const FIRST_SPACE = 0x6000_0000_0000;
const END_OF_SPACES = 0x7000_0000_0000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/**
 * Gives free memory of the C library back to the kernel, so that what is left is in use; null where
 * there is no such function.
 */
const trim = ((): (() => void) | null => {
  try {
    const call = koffi.load(null).func('int malloc_trim(size_t pad)') as (pad: number) => number;
    return () => call(0);
  } catch {
    return null;
  }
})();

/** Collections in a row that gave nothing back. */
const ENOUGH = 10;

/** Collects what can be collected, and lets the finalizers run. */
export async function collect(): Promise<void> {
  let least = Number.POSITIVE_INFINITY;
  // What buffers held is given back by another thread, a while after it is known to be garbage.
  for (let inVain = 0; inVain < ENOUGH; inVain++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { external } = process.memoryUsage();
    if (external >= least) continue;
    least = external;
    inVain = 0;
  }
  trim?.();
}

export function holdings(): Holdings {
  const targets = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      // The descriptor by which the folder itself was read.
      return null;
    }
  });
  const maps = readFileSync('/proc/self/maps', 'latin1').trimEnd().split('\n');
  const { heapUsed, external } = process.memoryUsage();
  let children = 0;
  const threads = readdirSync('/proc/self/task');
  for (const thread of threads) {
    children += readFileSync(`/proc/self/task/${thread}/children`, 'latin1')
      .split(' ')
      .filter((pid) => pid !== '').length;
  }
  return {
    descriptors: targets.filter((target) => target !== null).length,
    mappings: maps.length,
    threads: threads.length,
    children,
    memoryFiles: targets.filter((target) => target?.startsWith('/memfd:onemem') === true).length,
    spaces: maps.filter((line) => {
      const start = Number.parseInt(line, 16);
      return start >= FIRST_SPACE && start < END_OF_SPACES;
    }).length,
    privateBytes: privateBytes('self'),
    heapBytes: heapUsed,
    externalBytes: external,
  };
}

/** The child processes in words. A Z is one that has ended and waits to be reaped. */
export function describeChildren(): string {
  return readdirSync('/proc/self/task')
    .flatMap((thread) => readFileSync(`/proc/self/task/${thread}/children`, 'latin1').split(' '))
    .filter((pid) => pid !== '')
    .map((pid) => {
      try {
        const [, state] =
          /^State:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
        return `${pid} ${state}: ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`;
      } catch {
        return `${pid} gone`;
      }
    })
    .join('\n');
}

/** Private memory of a process, in bytes. */
export function privateBytes(pid: number | 'self'): number {
  const match = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return match === null ? 0 : Number(match[1]) * 1024;
}
