/**
 * Threads of the program that asked to be on the manager's CPU. A fault is two hand-overs between
 * them and the manager, and to wake a thread on another CPU that sleeps takes longer than all else.
 * The kernel prefers an idle CPU for a thread that it wakes, so that both must be bound.
 */

import { threadsOf } from '../../linux/processes/process.js';
import {
  currentCpu,
  getAffinity,
  noteBound,
  restoreAffinity,
  setAffinity,
} from '../../linux/threads/affinity.js';
import type { Requests } from '../protocol/requests.js';
import { RequestError } from '../protocol/wire.js';

/** How long a thread that a bound one started may have its CPU alone. */
const LOOK_MS = 200;

interface Bond {
  readonly cpu: number;
  /** What the manager may run on otherwise. */
  readonly cpus: readonly number[];
  /** Bound threads by the kernel's ids, and what each may run on otherwise. */
  readonly threads: Map<number, readonly number[]>;
  /** Threads of the process that need not be looked at any more. */
  known: ReadonlySet<number>;
  nextLook: number;
}

export class ThreadBindings {
  private bond: Bond | null = null;
  /** Who needs the manager on its CPU: bound threads of devices, and a disk. */
  private holds = 0;

  constructor(private readonly now: () => number) {}

  /** The CPU that the manager is bound to, or null. */
  get cpu(): number | null {
    return this.bond?.cpu ?? null;
  }

  /**
   * Has the manager stay on a CPU, its own unless another one is said, until `letGo` or until a
   * thread of the program wants it elsewhere. Returns the CPU, which is the one to which it is
   * bound already.
   */
  hold(cpu = currentCpu()): number {
    this.bond ??= this.begin(cpu);
    this.holds++;
    return this.bond.cpu;
  }

  letGo(): void {
    this.holds--;
    this.endUnused();
  }

  bind(
    thread: number,
    { cpu: wanted, current }: Requests['bindThread']['in'],
  ): Requests['bindThread']['out'] {
    // Where no thread of the program is bound, the program says where, and devices follow.
    if (this.bond?.threads.size === 0) this.end(this.bond);
    // A thread that a bound one has started a moment ago must not be taken for one that may run on
    // this CPU alone.
    if (this.bond !== null) freeStarted(this.bond);
    const cpus = getAffinity(thread);
    if (wanted !== null && !cpus.includes(wanted)) {
      const message = `cpu is ${wanted}; this thread may run on ${list(cpus)} (taskset, or the control group's cpuset)`;
      throw new RequestError('CPU', message, { cpu: wanted, cpus }, 'RangeError');
    }
    const cpu = this.bond?.cpu ?? chosen(wanted, current, cpus, getAffinity());
    if (wanted !== null && wanted !== cpu) {
      const others = [...(this.bond?.threads.keys() ?? [])].join(', ');
      const message = `cannot bind the thread to CPU ${wanted}: the manager is on CPU ${cpu}, to which thread ${others} is bound; leave cpu out, or release that one first`;
      throw new RequestError('THREAD_BOUND', message, { cpu: wanted, managerCpu: cpu });
    }
    if (!cpus.includes(cpu)) {
      const message = `cannot bind the thread: the manager is on CPU ${cpu}, and this thread may run on ${list(cpus)} only`;
      throw new RequestError('CPU', message, { cpu, cpus }, 'RangeError');
    }
    this.bond ??= this.begin(cpu);
    this.bond.threads.set(thread, cpus);
    try {
      setAffinity([cpu], thread);
    } catch (error) {
      this.release(thread);
      throw error;
    }
    return { cpu, cpus };
  }

  /** Lets a thread run where it could before. Does nothing for one that is not bound. */
  release(thread: number): void {
    const { bond } = this;
    const cpus = bond?.threads.get(thread);
    if (bond === null || cpus === undefined) return;
    freeStarted(bond);
    bond.threads.delete(thread);
    restoreAffinity(thread, [bond.cpu], cpus);
    this.endUnused();
  }

  close(): void {
    for (const thread of [...(this.bond?.threads.keys() ?? [])]) this.release(thread);
  }

  /** Forgets bound threads that have ended, and frees threads that bound ones started. */
  look(now: number): void {
    const { bond } = this;
    if (bond === null || now < bond.nextLook) return;
    bond.nextLook = now + LOOK_MS;
    freeStarted(bond);
    for (const thread of bond.threads.keys())
      if (!bond.known.has(thread)) bond.threads.delete(thread);
    this.endUnused();
  }

  private begin(cpu: number): Bond {
    const cpus = getAffinity();
    const known = threadsOf('self');
    setAffinity([cpu]);
    noteBound(cpus);
    return { cpu, cpus, threads: new Map(), known, nextLook: this.now() + LOOK_MS };
  }

  private endUnused(): void {
    const { bond } = this;
    if (bond !== null && bond.threads.size === 0 && this.holds === 0) this.end(bond);
  }

  /** Nothing needs the manager on its CPU any more. */
  private end({ cpu, cpus }: Bond): void {
    this.bond = null;
    noteBound(null);
    restoreAffinity(0, [cpu], cpus);
  }
}

/** The CPU that was asked for; otherwise that of the thread, or another one that both may have. */
function chosen(
  wanted: number | null,
  current: number,
  cpus: readonly number[],
  managers: readonly number[],
): number {
  const both = cpus.filter((cpu) => managers.includes(cpu));
  if (wanted !== null && both.includes(wanted)) return wanted;
  if (wanted === null && both.length > 0) return both.includes(current) ? current : both[0];
  const where = `the manager may run on ${list(managers)}, this thread on ${list(cpus)}`;
  const what =
    wanted === null ? 'cannot bind the thread' : `cannot bind the thread to CPU ${wanted}`;
  throw new RequestError('CPU', `${what}: ${where}`, { cpu: wanted, cpus: both }, 'RangeError');
}

function list(cpus: readonly number[]): string {
  return `CPU${cpus.length === 1 ? '' : 's'} ${cpus.join(', ')}`;
}

/** Frees threads that bound ones started: the kernel bound these unasked. */
function freeStarted(bond: Bond): void {
  const { cpu, cpus, known, threads: bound } = bond;
  try {
    bond.known = threadsOf('self');
  } catch {
    // There is no descriptor left to look with: the next look finds them.
    return;
  }
  for (const thread of bond.known)
    if (!known.has(thread) && !bound.has(thread)) restoreAffinity(thread, [cpu], cpus);
}
