/** What a handle for other processes is to allow. */
import type { OptionNames } from '../../messages/option-names.js';
import type { ShareRights } from '../../pager/protocol/attaching.js';
import type { ShareOptions } from '../public.js';
import { checkOptions, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { ManagedArray } from './managed-array.js';

const SHARE_OPTIONS: OptionNames<ShareOptions> = { rights: true, arrays: true };

export function shareWish(
  space: unknown,
  options: ShareOptions,
): { rights: ShareRights; ranges: readonly number[] | null } {
  checkOptions('share()', options, SHARE_OPTIONS);
  const { rights = 'write', arrays } = options;
  if (rights !== 'read' && rights !== 'write')
    throw argumentError('RIGHTS', `rights is ${show(rights)}; it must be 'read' or 'write'`);
  if (arrays === undefined) return { rights, ranges: null };
  if (!Array.isArray(arrays))
    throw typeError('ARRAY', `arrays is ${show(arrays)}; pass a list of arrays`);
  const ranges = arrays.map((array: unknown) => {
    if (!(array instanceof ManagedArray))
      throw typeError('ARRAY', `${show(array)} in arrays is no array of a space`);
    if (array.space !== space)
      throw typeError('FOREIGN_ARRAY', `array ${array.name} belongs to another space`);
    return array.handle.range;
  });
  return { rights, ranges };
}
