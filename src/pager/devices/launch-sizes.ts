/** Launches whose size is in an array: read in their turn, since a kernel may write it. */

import type { DenyReason } from '../../core/basics/types.js';
import type { SpaceContext } from '../arrays/table/context.js';
import { readHostBytes } from '../arrays/table/host-bytes.js';
import { type WireError, wireError } from '../protocol/wire.js';
import type { LaunchOperation } from './launch.js';

/** Of one of its numbers. */
export const SIZE_BYTES = 4;

/** What each number counts, unless that is workgroups. */
const ONE = [1, 1, 1] as const;

/** Answers with the launch and its size, which may be 0, or with why that is not had. */
export function readSize(
  context: SpaceContext,
  operation: LaunchOperation,
  done: (sized: LaunchOperation | null, failure: WireError | null) => void,
): void {
  const { indirect, kernelName, ...others } = operation;
  if (indirect === undefined) throw new Error('the size of the launch is known');
  const { offset, numbers, workgroup } = indirect;
  const what = `kernel ${kernelName}`;
  const wanted = { at: offset, bytes: numbers * SIZE_BYTES };
  readHostBytes(context, wanted, (content, failure, page) => {
    if (content === null || failure !== null) {
      done(null, context.places.denialError(failure as DenyReason, page, what, false));
      return;
    }
    const found = new Uint32Array(content.buffer);
    const [x, y = 1, z = 1] = found;
    const [wide, high, deep] = workgroup ?? ONE;
    const items = [x * wide, y * high, z * deep] as const;
    const size = items[0] * items[1] * items[2];
    if (!Number.isSafeInteger(size)) {
      const said = `${found.join(' x ')}${workgroup === undefined ? '' : ` workgroups of ${workgroup.join(' x ')}`}`;
      const message = `${what}: its size is ${said}, which is more than 2 ** 53 - 1 work items`;
      done(null, wireError('SIZE', message, { kernel: kernelName }));
      return;
    }
    const isLine = numbers === 1 && workgroup === undefined;
    const dimensions = isLine ? {} : { dimensions: items };
    done({ ...others, kernelName, begin: 0, end: size, size, ...dimensions }, null);
  });
}
