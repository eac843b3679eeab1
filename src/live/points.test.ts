import { describe, expect, it } from 'vitest';
import { piecesOf } from './points.js';

describe('pieces of an array that are drawn', () => {
  it('are all of a small one', () => {
    expect(piecesOf(8192)).toEqual({ begins: [0], pieceLength: 8192 });
    expect(piecesOf(0)).toEqual({ begins: [0], pieceLength: 0 });
  });

  it('are 64 of a larger one, from its begin to its end', () => {
    const { begins, pieceLength } = piecesOf(8193);
    expect([begins.length, pieceLength, begins[0]]).toEqual([64, 128, 0]);
    expect((begins.at(-1) ?? 0) + pieceLength).toBe(8193);
  });
});
