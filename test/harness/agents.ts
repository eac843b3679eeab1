/** Processes that attach to a space of the test. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { QueuedTime } from '../../src/linux/threads/queued-time.js';
import type { Deeds } from '../processes/programs/agent.js';
import { sleep } from './suite.js';

const PROGRAM = fileURLToPath(new URL('../processes/programs/agent.js', import.meta.url));
/** What takes longer does not happen. Time without a processor does not count. */
const LIMIT_MS = 60_000;
const LOOK_MS = 2000;

/** Aborts once the process, and this one, could have run for so long. */
function limitFor(pid: number): { readonly signal: AbortSignal; stop(): void } {
  const limit = new AbortController();
  const queued = [pid, process.pid].map((each) => new QueuedTime(each));
  let before = performance.now();
  let left = LIMIT_MS;
  const timer = setInterval(() => {
    const now = performance.now();
    left -= Math.max(0, now - before - Math.max(...queued.map((each) => each.takeMs())));
    before = now;
    if (left <= 0) limit.abort(new Error(`no answer within ${LIMIT_MS / 1000} s`));
  }, LOOK_MS);
  return { signal: limit.signal, stop: () => clearInterval(timer) };
}

type Answer =
  | { readonly value: unknown }
  | { readonly error: { readonly code?: string; readonly message: string } };

export class Agent {
  readonly process: ChildProcess;
  stderr = '';
  private readonly exit: Promise<[number | null, NodeJS.Signals | null]>;

  constructor(user: { readonly uid?: number; readonly gid?: number } = {}) {
    this.process = fork(PROGRAM, { stdio: ['pipe', 'inherit', 'pipe', 'ipc'], ...user });
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = once(this.process, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  }

  get pid(): number {
    return this.process.pid as number;
  }

  async do<D extends keyof Deeds>(
    deed: D,
    ...args: Parameters<Deeds[D]>
  ): Promise<Awaited<ReturnType<Deeds[D]>>> {
    const limit = limitFor(this.pid);
    const answered = once(this.process, 'message', limit) as Promise<[Answer]>;
    this.process.send({ deed, args });
    const ended = this.exit.then(([code, by]) => {
      throw new Error(
        `the process ended (${by ?? code}) instead of an answer to ${deed}: ${this.stderr}`,
      );
    });
    const [answer] = await Promise.race([answered, ended]).finally(limit.stop);
    if ('error' in answer) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.value as Awaited<ReturnType<Deeds[D]>>;
  }

  /** Asks for what the process does not survive. */
  async endsBy<D extends keyof Deeds>(
    deed: D,
    ...args: Parameters<Deeds[D]>
  ): Promise<NodeJS.Signals | null> {
    this.process.send({ deed, args });
    return (await this.exit)[1];
  }

  /** Waits until it stands still. */
  async stopped(): Promise<void> {
    while (!/^State:\s*[Tt]/m.test(readFileSync(`/proc/${this.pid}/status`, 'latin1')))
      await sleep(1);
  }

  /** Ends it, and waits until it has ended. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** A process that has attached. */
export async function attachedAgent(handle: string): Promise<Agent> {
  const agent = new Agent();
  await agent.do('attach', handle);
  return agent;
}
