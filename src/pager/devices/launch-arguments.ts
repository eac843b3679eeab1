/**
 * What a launch uses, in pages. An `out` argument is emptied before the launch begins: page by page
 * where pages are its own, and byte by byte at its edges, where a page holds elements of others,
 * too.
 */

import { bytesOf } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchArgument } from '../../core/service/launches.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import type { ArrayTable } from '../arrays/table/array-table.js';

export interface NamedArgument extends LaunchArgument {
  readonly name: string;
  /** How the kernel's parameter is declared. */
  readonly declared: LaunchArgument['use'];
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

export type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

export function pagesAround({ offset, length, type }: ArrayParameter): Pages {
  return {
    first: Math.floor(offset / PAGE_BYTES),
    end: Math.ceil((offset + length * bytesOf(type)) / PAGE_BYTES),
  };
}

/** Pages that hold nothing else, an array's last one included. None: both ends are equal. */
export function pagesWithin(parameter: ArrayParameter, table: ArrayTable): Pages {
  const { offset, length, type } = parameter;
  const last = offset + length * bytesOf(type);
  const first = Math.ceil(offset / PAGE_BYTES);
  const end = table.endsAt(last) ? Math.ceil(last / PAGE_BYTES) : Math.floor(last / PAGE_BYTES);
  return { first, end: Math.max(first, end) };
}
