/**
 * Which pages of which arrays requests and operations of streams are about. All of them name the
 * array, since its addresses may be another one's by now, and pass one check (Arrays.checkPages)
 * before anything is done with the pages.
 */
import { bytesOf } from '../../../core/basics/elements.js';
import { HOST, PAGE_BYTES, type ProcessorId } from '../../../core/basics/types.js';
import type { LaunchParameter } from '../../../drivers/driver.js';
import type { RequestMessage } from '../../protocol/messages.js';
import type { StreamOperation } from '../../protocol/operations.js';
import type { ArrayPages, BytePlace } from '../../protocol/pages.js';
import type { Requests } from '../../protocol/requests.js';

/** Requests that are about pages, by their names. */
type OfPages = {
  [K in keyof Requests]: Requests[K]['in'] extends ArrayPages | (BytePlace & { bytes: number })
    ? K
    : never;
}[keyof Requests];

interface Purpose {
  /** What is done to the array, as messages say it. */
  readonly verb: string;
  /** Freed pages may be among them: reports say that they were, and advice is about blocks. */
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
  mayWrite: { verb: 'wait for', sharedToo: true },
  discard: { verb: 'discard a part of' },
  pin: { verb: 'pin a part of' },
  stage: { verb: 'stage' },
  reload: { verb: 'reload' },
  residency: { verb: 'report on', freedToo: true, sharedToo: true },
  dirty: { verb: 'report on', freedToo: true, sharedToo: true },
  young: { verb: 'report on', freedToo: true, sharedToo: true },
  readBytes: { verb: 'read', sharedToo: true },
  writeBytes: { verb: 'write', sharedToo: true },
  transferFile: { verb: 'read or write', sharedToo: true },
};

/** The same by one look: a text of another thread is no name of the engine's for `in`. */
const BY_NAME: ReadonlyMap<string, Purpose> = new Map(Object.entries(PURPOSES));

/** The bytes that a processor would get a right to, for those who guard the array. */
export interface Asked {
  readonly processor: ProcessorId;
  readonly write: boolean;
  /** In the space. */
  readonly offset: number;
  readonly bytes: number;
}

export interface Wanted extends Purpose {
  readonly pages: ArrayPages;
  /** Left out: no processor gets a right by it. */
  readonly asked?: Asked;
}

/** What a request wants of an array's pages; null: it is not about pages. */
export function wantedBy(message: RequestMessage): Wanted | null {
  if (!isOfPages(message)) return null;
  const asked = rightOf(message);
  const wanted: Wanted = {
    ...PURPOSES[message.name],
    pages: pagesOf(message.value),
    ...(asked === null ? {} : { asked: askedFor(HOST, asked === 'write', message.value) }),
  };
  return message.name === 'pin' && message.value.hold
    ? { ...wanted, verb: 'hold a part of' }
    : wanted;
}

/** What the program may do with the pages, or has done with them. */
function rightOf(message: RequestMessage<keyof typeof PURPOSES>): 'read' | 'write' | null {
  switch (message.name) {
    case 'readBytes':
      return 'read';
    case 'writeBytes':
    case 'discard':
      return 'write';
    case 'transferFile':
      return message.value.direction === 'read' ? 'write' : 'read';
    case 'pin':
      return message.value.writable ? 'write' : 'read';
    default:
      return null;
  }
}

function askedFor(
  processor: ProcessorId,
  write: boolean,
  place: ArrayPages | (BytePlace & { bytes: number }),
): Asked {
  if ('offset' in place) return { processor, write, offset: place.offset, bytes: place.bytes };
  const { firstPage, count } = place;
  return { processor, write, offset: firstPage * PAGE_BYTES, bytes: count * PAGE_BYTES };
}

/** The arguments that have elements, in the order of their pages. */
function askedBy(processor: ProcessorId, parameters: readonly LaunchParameter[]): Asked[] {
  return parameters.flatMap((each) =>
    each.kind !== 'array' || each.length === 0
      ? []
      : askedFor(processor, each.use !== 'in', {
          range: 0,
          name: each.name,
          offset: each.offset,
          bytes: each.length * bytesOf(each.type),
        }),
  );
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
      const asked = askedBy(operation.device, operation.parameters);
      return operation.arrays.map((pages, at) => ({
        pages,
        verb,
        freedToo: true,
        sharedToo: true,
        asked: asked[at],
      }));
    }
    case 'prefetch': {
      const { device, exclusive } = operation;
      const asked = askedFor(device, exclusive, operation);
      return exclusive
        ? [{ pages: operation, verb: 'make exclusive', asked }]
        : [{ pages: operation, verb: 'prefetch', sharedToo: true, asked }];
    }
    case 'copy': {
      const { to, from, bytes } = operation;
      return [
        {
          pages: pagesOf({ ...from, bytes }),
          verb: 'copy from',
          freedToo: true,
          sharedToo: true,
          asked: askedFor(HOST, false, { ...from, bytes }),
        },
        {
          pages: pagesOf({ ...to, bytes }),
          verb: 'copy to',
          freedToo: true,
          sharedToo: true,
          asked: askedFor(operation.at ?? HOST, true, { ...to, bytes }),
        },
      ];
    }
    case 'discard':
      return [
        {
          pages: operation,
          verb: PURPOSES.discard.verb,
          asked: askedFor(HOST, true, operation),
        },
      ];
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
