import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameAllocator } from './frames.js';

type Chunk = 512 | 16 | 1;

describe('FrameAllocator', () => {
  it('tells the pieces that free frames lie in, and the largest', () => {
    const allocator = new FrameAllocator(70_000);
    expect(allocator.pieces()).toEqual({ count: 1, largest: 70_000 });
    const frames = [allocator.allocate(512), allocator.allocate(512), allocator.allocate(512)];
    expect(frames).toEqual([0, 512, 1024]);
    allocator.release(3, 2);
    allocator.release(512, 512);
    expect(allocator.pieces()).toEqual({ count: 3, largest: 70_000 - 1536 });
    expect(new FrameAllocator(0).pieces()).toEqual({ count: 0, largest: 0 });
  });

  it('hands no frame out twice, keeps chunks aligned, and fails only when no chunk of the size is free', () => {
    const step = fc.record({
      allocate: fc.boolean(),
      chunk: fc.constantFrom<Chunk>(512, 16, 1, 1),
      pick: fc.nat(),
      part: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1700 }),
        fc.array(step, { maxLength: 120 }),
        (frames, steps) => {
          const allocator = new FrameAllocator(frames);
          const used = new Uint8Array(frames);
          const held: [first: number, count: number][] = [];
          const hasFree = (chunk: number): boolean => {
            for (let first = 0; first + chunk <= frames; first += chunk) {
              if (used.subarray(first, first + chunk).every((each) => each === 0)) return true;
            }
            return false;
          };
          for (const { allocate, chunk, pick, part } of steps) {
            if (allocate) {
              const expected = hasFree(chunk);
              const first = allocator.allocate(chunk);
              expect(first !== -1).toBe(expected);
              if (first === -1) continue;
              expect(first % chunk).toBe(0);
              expect(used.subarray(first, first + chunk).every((each) => each === 0)).toBe(true);
              expect(first + chunk).toBeLessThanOrEqual(frames);
              used.fill(1, first, first + chunk);
              held.push([first, chunk]);
            } else if (held.length > 0) {
              // What is given back need not be what was handed out.
              const [[first, count]] = held.splice(pick % held.length, 1);
              const given = part ? Math.ceil(count / 2) : count;
              allocator.release(first, given);
              used.fill(0, first, first + given);
              if (given < count) held.push([first + given, count - given]);
            }
            expect(allocator.free).toBe(used.reduce((free, each) => free + 1 - each, 0));
          }
        },
      ),
    );
  });

  it('takes small chunks from what is broken already, so that large ones stay whole', () => {
    const allocator = new FrameAllocator(3 * 512);
    allocator.allocate(1);
    for (let i = 0; i < 40; i++) allocator.allocate(16);
    expect(
      [allocator.allocate(512), allocator.allocate(512)].filter((first) => first === -1),
    ).toHaveLength(1);
  });

  it('merges at once: a root whose last small part comes back serves a large chunk', () => {
    const allocator = new FrameAllocator(512);
    const parts = Array.from({ length: 512 }, () => allocator.allocate(1));
    expect(new Set(parts).size).toBe(512);
    expect(allocator.allocate(1)).toBe(-1);
    for (const part of parts) {
      expect(allocator.allocate(512)).toBe(-1);
      allocator.release(part, 1);
    }
    expect(allocator.allocate(512)).toBe(0);
  });

  it('says so when a frame is given back twice', () => {
    const allocator = new FrameAllocator(32);
    const frame = allocator.allocate(1);
    allocator.release(frame, 1);
    expect(() => allocator.release(frame, 1)).toThrow(/frame 0 .* not in use/);
  });
});
