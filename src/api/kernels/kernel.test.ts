import { describe, expect, it } from 'vitest';
import { f32, kernel } from './kernel.js';

const wgsl =
  '@group(0) @binding(0) var<storage, read_write> x: array<f32>; @compute @workgroup_size(1) fn main() { x[0] = 1; }';

describe('a kernel in WGSL', () => {
  it('is called by the variable that it was assigned to, as one that is a function', () => {
    const doubles = kernel({ x: f32.inout }, { wgsl });
    expect(doubles.name).toBe('doubles');
    expect([kernel({ x: f32.inout }, { wgsl }).name]).toEqual(['(anonymous)']);
  });
});

describe('a function that would not run', () => {
  it.each([function* () {}, async function* () {}])(
    'as one that is a generator is no kernel',
    (body) => {
      expect(() => kernel({ x: f32.inout }, body as () => void)).toThrow(
        /^kernel .* is a generator.*leave out the \*$/,
      );
    },
  );
});

describe('an entry point', () => {
  it.each([Object.create(null), 7, {}])(
    'that is no name is refused as what it is',
    (entryPoint) => {
      expect(() => kernel({ x: f32.inout }, { wgsl, entryPoint: entryPoint as string })).toThrow(
        /^entryPoint of kernel \(anonymous\) is a name, not /,
      );
    },
  );

  it('without a name is refused with those that there are', () => {
    expect(() => kernel({ x: f32.inout }, { wgsl, entryPoint: '' })).toThrow(
      /^kernel \(anonymous\), .*there are: main$/s,
    );
  });
});
