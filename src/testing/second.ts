/** A second process on the space of a scenario. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressSpace } from '../index.js';
import type { Answered, Asked, Deeds } from './second-process.js';

// The build joins this file with others in a folder beside: the path has to hold from there, too.
const PROGRAM = new URL('../testing/second-process.js', import.meta.url);

export class SecondProcess {
  private readonly child: ChildProcess;
  private readonly ended: Promise<never>;

  private constructor(handle: string) {
    this.child = fork(PROGRAM, [handle], { serialization: 'advanced' });
    this.ended = once(this.child, 'exit').then(([code, signal]) =>
      Promise.reject(new Error(`the second process ended (${signal ?? code})`)),
    );
    this.ended.catch(() => undefined);
  }

  /** Has one for as long as the action takes. */
  static async on(
    space: AddressSpace,
    action: (second: SecondProcess) => Promise<void>,
  ): Promise<void> {
    const second = new SecondProcess(space.share());
    try {
      await action(second);
    } finally {
      await second.end();
    }
  }

  async do<D extends keyof Deeds>(
    deed: D,
    ...args: Parameters<Deeds[D]>
  ): Promise<Awaited<ReturnType<Deeds[D]>>> {
    const answered = once(this.child, 'message') as Promise<[Answered]>;
    this.child.send({ deed, args } satisfies Asked);
    const [answer] = await Promise.race([answered, this.ended]);
    if ('message' in answer) throw Object.assign(new Error(answer.message), { code: answer.code });
    return answer.value as Awaited<ReturnType<Deeds[D]>>;
  }

  private async end(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended.catch(() => undefined);
  }
}
