/** Functions that fill arrays, or do not. */
import type { FillRequest } from '../../src/index.js';

export function fill({ bytes }: FillRequest): void {
  bytes.fill(3);
}

export const nothing = 5;

export function fail(): void {
  throw new Error('on purpose');
}

export function failOddly(): void {
  throw Object.create(null);
}

export function refuseAll({ refuse }: FillRequest): void {
  refuse('on purpose');
}
