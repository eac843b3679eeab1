/** Handles of arrays, by which other threads see them. */
import {
  type ElementType,
  isElementType,
  type NumericArray,
} from '../../../core/basics/elements.js';
import type { SpaceHandle } from '../../../pager/protocol/space.js';
import { whatIs } from '../../line/space-handle.js';
import { isObject, isWhole } from '../../values/arguments.js';
import { typeError } from '../../values/errors.js';

declare const ELEMENTS: unique symbol;

/**
 * What another thread needs to see the array; send it by postMessage. The type of its elements goes
 * along, for the compiler.
 */
export interface ArrayHandle<T extends NumericArray = NumericArray> {
  /** Never there: it only says what `data` is. */
  readonly [ELEMENTS]?: T;
  readonly space: SpaceHandle;
  readonly range: number;
  readonly firstPage: number;
  readonly pages: number;
  readonly length: number;
  readonly type: ElementType;
  readonly name: string;
  /** Whether `data` is a mapping of the array's file. */
  readonly mapped?: boolean;
}

export function checkArrayHandle(handle: unknown): asserts handle is ArrayHandle {
  if (isObject(handle)) {
    const { space, range, firstPage, pages, length, type, name } = handle as Partial<ArrayHandle>;
    const numbers =
      isWhole(range, 1) && isWhole(firstPage, 0) && isWhole(pages, 1) && isWhole(length, 0);
    if (numbers && isObject(space) && isElementType(type) && typeof name === 'string') return;
  }
  throw typeError(
    'ARRAY_HANDLE',
    `this is ${whatIs(handle, 'array')}; pass what array.handle gives, as it is`,
  );
}
