/** What processors, transfers and copies may do to elements, in the words of programs. */
import { bytesOf } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { ArrayInternals } from '../line/internals.js';
import { show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';

/** What may be done to elements. */
export type Rights = 'none' | 'read' | 'readwrite';

/** The right in the manager's words. */
export function rightsOf(array: ArrayInternals, rights: Rights): 0 | 1 | 2 {
  const access = ['none', 'read', 'readwrite'].indexOf(rights);
  if (access !== -1) return access as 0 | 1 | 2;
  const message = `rights of array ${array.name} are ${show(rights)}; they are 'none', 'read' or 'readwrite'`;
  throw typeError('RIGHTS', message);
}

/** Refuses what lies at no page's beginning and not at the array's end; names what does. */
export function checkBoundary(array: ArrayInternals, which: string, index: number): void {
  const perPage = PAGE_BYTES / bytesOf(array.type);
  if (index % perPage === 0 || index === array.length) return;
  const below = index - (index % perPage);
  const above = Math.min(below + perPage, array.length);
  throw argumentError(
    'PAGE_BOUNDARY',
    `${which} ${index} of array ${array.name} lies within a page of ${perPage} elements, and rights are those of whole pages; the nearest ` +
      `that do not are ${below} and ${above}`,
  );
}
