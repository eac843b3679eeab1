/** Bytes of the space that the manager looks at itself: sizes of launches, numbers of their plans. */
import { Access, type DenyReason, HOST_NODE, PAGE_BYTES } from '../../core/basics/types.js';
import type { BytesWanted } from '../../drivers/wgsl-launch.js';
import { readMemory } from '../../linux/memory/memory.js';
import type { SpaceContext } from '../arrays/table/context.js';

/** Answers when they are on the host, or with why that cannot be and the page to blame. */
export function readHostBytes(
  { manager, requests, memory }: SpaceContext,
  { at, bytes }: BytesWanted,
  done: (content: Uint8Array | null, failure: DenyReason | null, page: number) => void,
): void {
  const first = Math.floor(at / PAGE_BYTES);
  const count = Math.ceil((at + bytes) / PAGE_BYTES) - first;
  requests.start(
    (request) => manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true }),
    (_pages, failure) => {
      if (failure !== null) {
        done(null, failure, first);
        return;
      }
      const content = new Uint8Array(bytes);
      readMemory(content, memory + at);
      manager.release(HOST_NODE, first, count, Access.Read);
      done(content, null, first);
    },
  );
}
