/** Bytes of the space that the manager itself reads or writes, where the host has them. */
import { Access, type DenyReason, HOST_NODE, PAGE_BYTES } from '../../../core/basics/types.js';
import { readMemory } from '../../../linux/memory/memory.js';
import type { SpaceContext } from './context.js';

interface Bytes {
  readonly at: number;
  readonly bytes: number;
}

/** Why they cannot be had, and the page to blame; null: all is well. */
type Done = (failure: DenyReason | null, page: number) => void;

/** Has `use` run while the bytes are held on the host, and tells when that is done. */
export function withHostBytes(
  { manager, requests, places }: SpaceContext,
  { at, bytes }: Bytes,
  access: Access,
  use: () => void,
  done: Done,
): void {
  const first = Math.floor(at / PAGE_BYTES);
  const count = Math.ceil((at + bytes) / PAGE_BYTES) - first;
  requests.start(
    (request) => manager.bring(request, HOST_NODE, first, count, access, { hold: true }),
    (_pages, failure) => {
      // What failed holds nothing: a release would end the hold of another request.
      if (failure !== null) {
        done(failure, places.pageWith(failure, first, count));
        return;
      }
      use();
      manager.release(HOST_NODE, first, count, access);
      done(null, first);
    },
  );
}

/** Answers with the bytes; null: they cannot be had. */
export function readHostBytes(
  context: SpaceContext,
  wanted: Bytes,
  done: (content: Uint8Array | null, failure: DenyReason | null, page: number) => void,
): void {
  const content = new Uint8Array(wanted.bytes);
  const read = (): void => readMemory(content, context.memory + wanted.at);
  withHostBytes(context, wanted, Access.Read, read, (failure, page) =>
    done(failure === null ? content : null, failure, page),
  );
}
