/** What this process holds, by name, to find what a closed space has left behind. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Spaces lie at these addresses, and nothing else does. */
const FIRST_ADDRESS = 0x6000_0000_0000;
const LAST_ADDRESS = 0x7000_0000_0000;
/** Threads end, and views are collected, a little later than a space is closed. */
const PATIENCE_MS = 5000;
/**
 * How long to wait before the first look, and at most before the next: each look collects garbage
 * and reads what the system has to tell.
 */
const FIRST_WAIT_MS = 5;
const LONGEST_WAIT_MS = 300;

/**
 * Of a GPU that the program has opened itself: one in software keeps its code in such files, and
 * drivers open their device for each piece of memory, which WebGPU keeps for later buffers.
 */
const DRIVERS_OWN = /^(\/memfd:swiftshader_jit\b|\/dev\/nvidia\d+$|\/dev\/dri\/)/;

export interface Resources {
  readonly descriptors: readonly string[];
  readonly threads: readonly string[];
  readonly mappings: readonly string[];
  readonly children: readonly string[];
}

export function resources(): Resources {
  const mappings = readFileSync('/proc/self/maps', 'latin1').split('\n').filter(isOfSpace);
  return { descriptors: descriptors(), threads: threads(), mappings, children: children() };
}

/** What is there now and was not before; waits for what is about to go. */
export async function leftBehind(before: Resources): Promise<string[]> {
  const end = performance.now() + PATIENCE_MS;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    // A view that is left keeps its addresses taken by design; they go when it is collected.
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, wait));
    const now = resources();
    const left = [
      ...added('descriptor', before.descriptors, now.descriptors),
      ...added('thread', before.threads, now.threads),
      ...added('mapping', before.mappings, now.mappings),
      ...added('child process', before.children, now.children),
    ];
    if (left.length === 0 || performance.now() > end) return left;
  }
}

function added(what: string, before: readonly string[], now: readonly string[]): string[] {
  const known = new Map<string, number>();
  for (const each of before) known.set(each, (known.get(each) ?? 0) + 1);
  return now.flatMap((each) => {
    const count = known.get(each) ?? 0;
    known.set(each, count - 1);
    return count > 0 ? [] : [`${what} ${each}`];
  });
}

function descriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return DRIVERS_OWN.test(path) ? [] : [`${fd} ${path}`];
    } catch {
      // The one that the listing itself used.
      return [];
    }
  });
}

/** By name only: the numbers are new for each thread. */
function threads(): string[] {
  return readdirSync('/proc/self/task').flatMap((thread) => {
    try {
      return [readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').trim()];
    } catch {
      return [];
    }
  });
}

function isOfSpace(line: string): boolean {
  if (line.includes('memfd:onemem')) return true;
  const start = Number.parseInt(line, 16);
  return start >= FIRST_ADDRESS && start < LAST_ADDRESS;
}

/** Zombies, too: a child that its parent has not waited for is left behind. */
function children(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === process.pid ? [stat.slice(0, stat.lastIndexOf(')') + 1)] : [];
    } catch {
      // It has ended meanwhile, and its parent knows.
      return [];
    }
  });
}

let gc: (() => void) | null = null;

function collectGarbage(): void {
  if (gc === null) {
    setFlagsFromString('--expose-gc');
    gc = runInNewContext('gc') as () => void;
  }
  gc();
}
