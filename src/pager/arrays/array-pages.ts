/**
 * Which pages of which arrays requests and operations of streams are about. All of them name the
 * array, since its addresses may be another one's by now, and pass one check (Arrays.checkPages)
 * before anything is done with the pages.
 */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { RequestMessage } from '../protocol/messages.js';
import type { StreamOperation } from '../protocol/operations.js';
import type { ArrayPages, BytePlace } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';

/** Requests that are about pages, by their names. */
type OfPages = {
  [K in keyof Requests]: Requests[K]['in'] extends ArrayPages | (BytePlace & { bytes: number })
    ? K
    : never;
}[keyof Requests];

interface Purpose {
  /** What is done to the array, as messages say it. */
  readonly verb: string;
  /**
   * Pages that were freed may be among them: what only reports says that they were, and advice is
   * about blocks.
   */
  readonly freedToo?: boolean;
  /**
   * Arrays of other machines may be among them: what only reports needs no right, and some
   * operations ask for those that they need (SharedUses).
   */
  readonly sharedToo?: boolean;
}

/** A `free` of all is no use of pages, and has a way of its own. */
const PURPOSES: { readonly [K in Exclude<OfPages, 'free'>]: Purpose } = {
  flush: { verb: 'flush' },
  protect: { verb: 'protect' },
  advise: { verb: 'advise on', freedToo: true },
  attributes: { verb: 'report on', freedToo: true, sharedToo: true },
  discard: { verb: 'discard a part of' },
  pin: { verb: 'pin a part of' },
  reload: { verb: 'reload' },
  residency: { verb: 'report on', freedToo: true, sharedToo: true },
  dirty: { verb: 'report on', freedToo: true, sharedToo: true },
  young: { verb: 'report on', freedToo: true, sharedToo: true },
  readBytes: { verb: 'read', sharedToo: true },
  writeBytes: { verb: 'write', sharedToo: true },
  transferFile: { verb: 'read or write', sharedToo: true },
};

/**
 * The same, where a name costs one look: a text from another thread is none of the engine's names,
 * and `in` would look it up among all.
 */
const BY_NAME: ReadonlyMap<string, Purpose> = new Map(Object.entries(PURPOSES));

export interface Wanted extends Purpose {
  readonly pages: ArrayPages;
}

/** What a request wants of an array's pages; null: it is not about pages. */
export function wantedBy(message: RequestMessage): Wanted | null {
  if (!isOfPages(message)) return null;
  const wanted = { ...PURPOSES[message.name], pages: pagesOf(message.value) };
  return message.name === 'pin' && message.value.hold
    ? { ...wanted, verb: 'hold a part of' }
    : wanted;
}

function isOfPages(message: RequestMessage): message is RequestMessage<keyof typeof PURPOSES> {
  return BY_NAME.has(message.name);
}

/**
 * The same for an operation of a stream. A launch may be handed pages that were freed, as long as
 * it does not touch them; a copy copies what comes before them.
 */
export function wantedByOperation(operation: StreamOperation): Wanted[] {
  switch (operation.kind) {
    case 'launch': {
      const verb = `launch ${operation.kernelName} with`;
      return operation.arrays.map((pages) => ({ pages, verb, freedToo: true, sharedToo: true }));
    }
    case 'prefetch':
      return operation.exclusive
        ? [{ pages: operation, verb: 'make exclusive' }]
        : [{ pages: operation, verb: 'prefetch', sharedToo: true }];
    case 'copy': {
      const { to, from, bytes } = operation;
      return [
        { pages: pagesOf({ ...from, bytes }), verb: 'copy from', freedToo: true, sharedToo: true },
        { pages: pagesOf({ ...to, bytes }), verb: 'copy to', freedToo: true, sharedToo: true },
      ];
    }
    case 'discard':
      return [{ pages: operation, verb: PURPOSES.discard.verb }];
    case 'free':
      return [{ pages: operation, verb: 'free', freedToo: true, sharedToo: true }];
    default:
      return [];
  }
}

function pagesOf(place: ArrayPages | (BytePlace & { bytes: number })): ArrayPages {
  if ('firstPage' in place) return place;
  const { range, name, offset, bytes } = place;
  const firstPage = Math.floor(offset / PAGE_BYTES);
  return { range, name, firstPage, count: Math.ceil((offset + bytes) / PAGE_BYTES) - firstPage };
}
