/** Typed arrays by the short names of their elements. */

import { CONSTRUCTORS } from '../../core/basics/elements.js';
import type { ElementType, NumericArray } from '../../index.js';

interface AnyArrayType {
  new (length: number): NumericArray;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

export const ARRAY_TYPES: Readonly<Record<ElementType, AnyArrayType>> = CONSTRUCTORS;
