/**
 * What a launch uses, in pages. An `out` argument is emptied before the launch begins: page by page
 * where pages are its own, and byte by byte at its edges, where a page holds elements of others,
 * too.
 */

import { bytesOf } from '../../core/basics/elements.js';
import {
  Access,
  type DenyReason,
  HOST_NODE,
  PAGE_BYTES,
  type ProcessorId,
} from '../../core/basics/types.js';
import type { LaunchArgument } from '../../core/service/launches.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import { fillMemory } from '../../linux/memory/memory.js';
import type { ArrayTable } from '../arrays/table/array-table.js';
import type { SpaceContext } from '../arrays/table/context.js';

export interface NamedArgument extends LaunchArgument {
  readonly name: string;
  /** How the kernel's parameter is declared. */
  readonly declared: LaunchArgument['use'];
}

/** Some bytes of one page, by their place in the space. */
interface Edge {
  readonly offset: number;
  readonly bytes: number;
}

interface Pages {
  readonly first: number;
  readonly end: number;
}

/** Pages by use. At the edges of an `out` argument others have content: those are `inout`. */
export function argumentsOf(
  parameters: readonly LaunchParameter[],
  table: ArrayTable,
): NamedArgument[] {
  const found: NamedArgument[] = [];
  for (const each of parameters) {
    if (each.kind !== 'array') continue;
    const { name, use: declared } = each;
    const around = pagesAround(each);
    const own = declared === 'out' ? pagesWithin(each, table) : around;
    const add = (first: number, end: number, use: LaunchArgument['use']): void => {
      if (first < end) found.push({ name, declared, first, count: end - first, use });
    };
    add(own.first, own.end, declared);
    add(around.first, own.first, 'inout');
    add(own.end, around.end, 'inout');
  }
  return found;
}

/** The pages of each array, with those at its edges. */
export function arrayPages(parameters: readonly LaunchParameter[]): Pages[] {
  const found: Pages[] = [];
  for (const each of parameters) if (each.kind === 'array') found.push(pagesAround(each));
  return found;
}

/** Sets the elements of `out` arguments to zero that lie in pages with elements of others. */
export class EdgeClearing {
  constructor(private readonly context: SpaceContext) {}

  /** `done` is told why the pages cannot be written, if they cannot, and which one. */
  clear(
    processor: ProcessorId,
    parameters: readonly LaunchParameter[],
    done: (failure: DenyReason | null, page: number) => void,
  ): void {
    const edges: Edge[] = [];
    for (const each of parameters) edges.push(...this.edgesOf(each));
    if (edges.length === 0) {
      done(null, -1);
      return;
    }
    // Nothing is emptied for a launch that could not write it then.
    for (const each of parameters) {
      if (each.kind !== 'array' || each.use !== 'out') continue;
      const { first, end } = pagesAround(each);
      const failure = this.context.manager.pages.denial(
        first,
        end - first,
        Access.Write,
        processor,
      );
      if (failure === null) continue;
      done(failure, this.context.places.pageWith(failure, first, end - first));
      return;
    }
    this.next(edges, 0, done);
  }

  private next(
    edges: readonly Edge[],
    at: number,
    done: (failure: DenyReason | null, page: number) => void,
  ): void {
    if (at === edges.length) {
      done(null, -1);
      return;
    }
    const { offset, bytes } = edges[at];
    const page = Math.floor(offset / PAGE_BYTES);
    this.context.requests.start(
      (request) =>
        this.context.manager.bring(request, HOST_NODE, page, 1, Access.Write, { hold: true }),
      (_pages, failure) => {
        if (failure !== null) {
          done(failure, page);
          return;
        }
        fillMemory(this.context.memory + offset, 0, bytes);
        this.context.manager.release(HOST_NODE, page, 1, Access.Write);
        this.next(edges, at + 1, done);
      },
    );
  }

  private edgesOf(each: LaunchParameter): Edge[] {
    if (each.kind !== 'array' || each.use !== 'out') return [];
    const { offset } = each;
    const end = offset + each.length * bytesOf(each.type);
    const own = pagesWithin(each, this.context.table);
    const before = Math.min(own.first * PAGE_BYTES, end);
    const after = Math.max(own.end * PAGE_BYTES, before);
    const edges = [
      { offset, bytes: before - offset },
      { offset: after, bytes: end - after },
    ];
    return edges.filter(({ bytes }) => bytes > 0);
  }
}

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

function pagesAround({ offset, length, type }: ArrayParameter): Pages {
  return {
    first: Math.floor(offset / PAGE_BYTES),
    end: Math.ceil((offset + length * bytesOf(type)) / PAGE_BYTES),
  };
}

/** Pages that hold nothing else, an array's last one included. None: both ends are equal. */
function pagesWithin(parameter: ArrayParameter, table: ArrayTable): Pages {
  const { offset, length, type } = parameter;
  const last = offset + length * bytesOf(type);
  const first = Math.ceil(offset / PAGE_BYTES);
  const end = table.endsAt(last) ? Math.ceil(last / PAGE_BYTES) : Math.floor(last / PAGE_BYTES);
  return { first, end: Math.max(first, end) };
}
