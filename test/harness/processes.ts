/** Programs that a test starts and watches from outside. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import { sleep } from './suite.js';

/** What takes longer on a machine that does other things, too, does not happen. */
const UNTIL_MS = 30_000;

export interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** When the process had ended, by Date.now(). */
  readonly endedAt: number;
}

export interface StartOptions {
  readonly seconds?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly cwd?: string;
  /** The most KiB of a file that it may write (ulimit -f). */
  readonly fileKib?: number;
  /**
   * Folder whose programs/ has the compiled program; that of the test file unless said otherwise.
   */
  readonly folder?: string;
}

export class Program {
  readonly pid: number;
  readonly outcome: Promise<Outcome>;
  private readonly child: ChildProcess;
  private stdout = '';
  private stderr = '';
  private ended = false;
  private changed: () => void = () => undefined;

  /** @param program name of a module in programs/, without its ending */
  constructor(
    private readonly program: string,
    args: readonly string[],
    options: StartOptions = {},
  ) {
    const { seconds = 50, uid, gid, cwd, fileKib, folder = dirname(process.argv[1]) } = options;
    // A process group of its own, so that nothing of it is left when it has to be ended.
    const command = [process.execPath, `${folder}/programs/${program}.js`, ...args];
    const [file, ...rest] =
      fileKib === undefined
        ? command
        : ['bash', '-c', `ulimit -f ${fileKib}; exec "$@"`, 'bash', ...command];
    this.child = spawn(file, rest, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...(uid === undefined ? {} : { uid, gid, cwd }),
    });
    if (this.child.pid === undefined) throw new Error(`${program} could not be started`);
    this.pid = this.child.pid;
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.changed();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    let endedAt = 0;
    this.child.once('exit', () => {
      endedAt = Date.now();
    });
    this.outcome = new Promise((resolve, reject) => {
      const watchdog = setTimeout(() => {
        this.kill();
        reject(
          new Error(
            `${program} ${args.join(' ')} did not end within ${seconds} s; it had written:\n${this.text}`,
          ),
        );
      }, seconds * 1000);
      this.child.once('close', (code, signal) => {
        clearTimeout(watchdog);
        this.ended = true;
        this.changed();
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr, endedAt });
      });
    });
    // A test that waits for a line instead hears of the failure there.
    this.outcome.catch(() => this.changed());
  }

  /** The first complete line that begins with `prefix`, without it. */
  async line(prefix: string): Promise<string> {
    for (;;) {
      const lines = this.stdout.split('\n').slice(0, -1);
      const found = lines.find((each) => each.startsWith(prefix));
      if (found !== undefined) return found.slice(prefix.length);
      if (this.ended)
        throw new Error(
          `${this.program} ended without the line '${prefix}'; it had written:\n${this.text}`,
        );
      const next = new Promise<void>((resolve) => {
        this.changed = resolve;
      });
      await Promise.race([next, this.outcome]);
    }
  }

  /** The last complete line so far that begins with `prefix`, without it; null: there is none. */
  last(prefix: string): string | null {
    const found = this.stdout
      .split('\n')
      .slice(0, -1)
      .findLast((each) => each.startsWith(prefix));
    return found === undefined ? null : found.slice(prefix.length);
  }

  /** Sends a signal to the process alone. */
  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Ends the program with everything that it started. */
  kill(): void {
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // It has ended already.
    }
  }

  private get text(): string {
    return `${this.stdout}${this.stderr}`;
  }
}

/** Runs a program to its end. */
export function runProgram(
  program: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<Outcome> {
  return new Program(program, args, options).outcome;
}

/**
 * What the kernel says of a process, or of a thread by its path under the process; null: it has
 * gone.
 */
function statOf(pid: number | string): { state: string; session: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, , , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, session: Number(session) };
  } catch {
    return null;
  }
}

/** Whether a process runs. One that has ended and waits to be reaped does not. */
function isRunning(pid: number): boolean {
  return !/^[ZX]?$/.test(statOf(pid)?.state ?? '');
}

/**
 * Whether the main thread of a process stands in a page fault: it is stopped, and in no system
 * call.
 */
export function isInFault(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/syscall`, 'latin1').startsWith('-1 ');
  } catch {
    return false;
  }
}

/**
 * Whether a process has a handler for a signal, by what the kernel says; false: the signal ends it,
 * or it has gone.
 */
export function handlesSignal(pid: number, name: NodeJS.Signals): boolean {
  try {
    const caught =
      /^SigCgt:\t(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '0';
    return ((BigInt(`0x${caught}`) >> BigInt(constants.signals[name] - 1)) & 1n) === 1n;
  } catch {
    return false;
  }
}

/** Waits until something is so, for as long as a test may take. */
export async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + UNTIL_MS; !isSo(); await sleep(5)) {
    if (Date.now() > end) throw new Error(`${what}: not within ${UNTIL_MS / 1000} s`);
  }
}

/** Stops a process: a signal that has been sent has not yet stopped each of its threads. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  await until(`threads of process ${pid} stop`, () =>
    readdirSync(`/proc/${pid}/task`).every((thread) => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
      return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
    }),
  );
}

/** What a process leaves behind if it does not clean up: its devices and its memory files. */
export interface Traces {
  /** The number of the session that it leads, and that its devices belong to. */
  readonly session: number;
  readonly pids: readonly number[];
  readonly inodes: readonly number[];
}

/** The memory files of a process, by the numbers that every process sees. */
export function memoryFiles(
  pid: number | 'self' = 'self',
): { path: string; name: string; inode: number }[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      const path = `${folder}/${fd}`;
      const target = readlinkSync(path);
      const match = /^\/memfd:(onemem-.*) \(deleted\)$/.exec(target);
      return match === null ? [] : [{ path, name: match[1], inode: statSync(path).ino }];
    } catch {
      return [];
    }
  });
}

/**
 * Processes that still run, or still have one of the memory files open or mapped. Only the
 * program's own session is looked at: the numbers of files that have gone are given to new ones,
 * such as those of a test that runs beside this one.
 */
function leftOvers({ session, pids, inodes }: Traces): string[] {
  const left = pids.filter(isRunning).map((pid) => `process ${pid} runs`);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (statOf(pid)?.session !== session) continue;
    try {
      for (const file of memoryFiles(Number(pid))) {
        if (inodes.includes(file.inode)) left.push(`process ${pid} has ${file.name} open`);
      }
      for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
        const [, , , , inode = '', path = ''] = line.split(/\s+/);
        if (path.startsWith('/memfd:onemem-') && inodes.includes(Number(inode))) {
          left.push(`process ${pid} has ${path} mapped`);
        }
      }
    } catch {
      // It has ended meanwhile, or is the kernel's own.
    }
  }
  return left;
}

/** Waits until nothing is left, at most `ms` milliseconds; returns what is left then. */
export async function goneWithin(ms: number, traces: Traces): Promise<string[]> {
  const end = Date.now() + ms;
  for (;;) {
    const left = leftOvers(traces);
    if (left.length === 0 || Date.now() > end) return left;
    await sleep(20);
  }
}
