/** What the threads that follow a space have in common: each looks now and then, and ends with it. */
import { parentPort } from 'node:worker_threads';
import type { Failed } from '../../live/protocol.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { AddressSpace } from '../objects/address-space.js';
import { attachSpace } from '../opening/attach.js';

interface Followed {
  /** The first message to the program: the thread has begun. */
  readonly first: object;
  look(): Promise<void>;
  end(): void | Promise<void>;
}

/** Any message from the program ends the thread. */
export async function followSpace(
  handle: SpaceHandle | string,
  everyMs: number,
  begin: (space: AddressSpace) => Promise<Followed>,
): Promise<void> {
  const space = attachSpace(handle) as AddressSpace;
  try {
    const followed = await begin(space);
    let hasEnded = false;
    const end = async (): Promise<void> => {
      if (hasEnded) return;
      hasEnded = true;
      clearInterval(looking);
      await followed.end();
      void space.close();
      parentPort?.close();
    };
    const looking = setInterval(() => {
      if (space.isClosed) void end();
      else void followed.look().catch(end);
    }, everyMs);
    parentPort?.once('message', end);
    parentPort?.postMessage(followed.first);
  } catch (error) {
    const { message, code = '' } = error as NodeJS.ErrnoException;
    parentPort?.postMessage({ failed: message, code } satisfies Failed);
    process.exit();
  }
}
