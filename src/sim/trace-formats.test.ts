import { describe, expect, it } from 'vitest';
import { formatOf, parseTrace, type TraceFormat } from './trace-formats.js';

/** Blocks by the order in which they came first. */
function blocks(text: string, format: TraceFormat): number[] {
  return [...parseTrace(text, format).blocks];
}

describe('traces that others made', () => {
  it('are known by their first line', () => {
    expect(formatOf('4711')).toBe('lines');
    expect(formatOf('{"timestamp": 0, "input_length": 9, "hash_ids": [0, 1]}')).toBe('mooncake');
    expect(formatOf('time,object,size,next_access_vtime')).toBe('csv');
    expect(formatOf('0,12345,4096,-1')).toBe('csv');
    expect(formatOf('hello')).toBe(null);
    expect(formatOf('')).toBe(null);
  });

  it('may begin with comments and empty lines', () => {
    expect(formatOf('# LIRS\n\n70\n3\n')).toBe('lines');
    expect(formatOf('* a comment, with a comma\r\n70\r\n')).toBe('lines');
    expect(formatOf('# only\n')).toBe(null);
    expect(blocks('# by a tool\ntime,object\n1,a\n2,b\n', 'csv')).toEqual([0, 1]);
  });

  it('have a block number a line, with comments', () => {
    expect(blocks('# LIRS\n70\n3\n\n70\n*\n9\n', 'lines')).toEqual([0, 1, 0, 2]);
    expect(() => blocks('1\nx\n', 'lines')).toThrow('line 2 is no block number: x');
  });

  it('have the blocks of a request as hash_ids of Mooncake', () => {
    const text = '{"hash_ids": [46, 47]}\n{"timestamp": 5, "hash_ids": [46, 2353]}\n';
    expect(blocks(text, 'mooncake')).toEqual([0, 1, 0, 2]);
    expect(() => blocks('{"hash_ids": [1]}\n{', 'mooncake')).toThrow('line 2 is no JSON');
    expect(() => blocks('{"ids": [1]}', 'mooncake')).toThrow('line 1 has no list hash_ids');
  });

  it('have the object in the second column of the CSV of libCacheSim, with or without names', () => {
    expect(blocks('time,object,size\n1,a,4096\n2,b,4096\n3,a,4096\n', 'csv')).toEqual([0, 1, 0]);
    expect(blocks('1, 77,4096\n2,78\n3,77', 'csv')).toEqual([0, 1, 0]);
    expect(() => blocks('1,a\n2\n', 'csv')).toThrow('line 2 has no second column');
  });
});
