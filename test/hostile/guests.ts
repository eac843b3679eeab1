/** Spaces of other processes to which the process of the calls attaches, and processes of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, attachSpace, type ManagedArray } from '../../src/index.js';
import { sleep } from '../harness/suite.js';
import { Victims } from './victims.js';

const TIB = 2 ** 40;
/** Where spaces lie. */
export const FIRST_ADDRESS = 96 * TIB;
export const GUEST_ADDRESSES = 2 ** 34;
/** Spaces that the process opens itself come from the front, and do not reach so far. */
const SLACK = 15 * TIB;
/** Of addresses: what a process has attached it keeps. */
const MOST = 32;

/** A space of another process, to which this one has attached. */
export class Guest {
  readonly words: ManagedArray<Uint8Array>;
  readonly counters: ManagedArray<Int32Array>;
  readonly victims: Victims;
  readonly allocated: number;
  /** How many there have been. */
  static attached = 0;
  lost = false;

  private constructor(
    private readonly owner: ChildProcess,
    readonly space: AddressSpace,
  ) {
    this.words = space.bytes(400, { name: 'words' });
    this.counters = space.array(Int32Array, 10, { name: 'counters' });
    // What is in memory here can be read when the owner has ended.
    this.words.data.fill(1);
    this.counters.data.fill(1);
    this.victims = new Victims(space, 4);
    this.allocated = space.stats().allocatedBytes;
  }

  static get isPossible(): boolean {
    return Guest.attached < MOST;
  }

  static async attach(): Promise<Guest> {
    const owner = start('owner', `${SLACK + Guest.attached++ * GUEST_ADDRESSES}`);
    const handle = await firstWord(owner);
    return new Guest(owner, attachSpace(handle));
  }

  /** Ends the owner: the space is lost from some moment on. */
  end(): void {
    this.lost = true;
    this.owner.kill('SIGKILL');
  }

  async close(): Promise<void> {
    if (!this.lost) await this.space.close();
    this.end();
  }
}

/** A process that attaches to a space of this one and uses it until it is ended. */
export async function startUser(space: AddressSpace): Promise<{ end(): Promise<void> }> {
  // Calls before may have left too little of it.
  await space.setHostMemory('256MiB');
  const user = start('user', space.share());
  await firstWord(user);
  return {
    async end(): Promise<void> {
      const ended = once(user, 'exit');
      user.kill('SIGKILL');
      await ended;
      while (space.stats().processors.some(({ kind }) => kind === 'attached')) await sleep(1);
    },
  };
}

/** What a process says when it is ready. */
async function firstWord(child: ChildProcess): Promise<string> {
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('a process ended')));
  const [word] = (await Promise.race([once(child, 'message'), ended])) as [string];
  ended.catch(() => undefined);
  return word;
}

function start(program: string, argument: string): ChildProcess {
  const path = fileURLToPath(new URL(`./${program}.js`, import.meta.url));
  const child = fork(path, [argument], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  // The process of the calls ends by itself.
  child.unref();
  child.channel?.unref();
  return child;
}
