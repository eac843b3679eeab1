import { d, tgpu } from 'typegpu';
import { expect, test } from 'vitest';
import { f32, kernel, u32 } from './kernel.js';
import { typegpuFunction } from './typegpu-kernel.js';
import { struct, uniform, vec2u } from './uniform-parameters.js';
import type { Parameters } from './wgsl-parameters.js';

const Params = d.struct({ size: d.vec2u, shift: d.struct({ by: d.vec2f, n: d.u32 }), _pad: d.f32 });
const layout = tgpu.bindGroupLayout({
  params: { uniform: Params },
  y: { storage: d.arrayOf(d.f32), access: 'mutable' },
});

/** What the function finds in its layout. */
function found(own: object, values: object) {
  const parameters = { y: f32.inout, ...own };
  const wgsl = tgpu.resolve([
    tgpu.computeFn({ workgroupSize: [1] })`{ layout.$.y[0] = f32(layout.$.params.size.x); }`
      .$uses({ layout })
      .$name('main'),
  ]);
  const { bindings } = kernel(parameters, { wgsl }).wgsl!;
  let seen: unknown;
  const body = () => {
    const { size, shift } = layout.$.params;
    seen = [size.x + 10 * size.y, d.vec2f(1, 1).add(shift.by).y, shift.n, layout.$.y.length];
  };
  const call = typegpuFunction(
    'k',
    parameters as Parameters,
    { source: '', layouts: [layout], body } as never,
    bindings,
  );
  call({ y: new Float32Array(3), ...values }, { begin: 0, end: 1, size: 9 });
  return seen;
}

test('values of several numbers are TypeGPU’s own in a function, as a whole or by members', () => {
  const whole = { size: [1, 2], shift: { by: [3, 4], n: 5 } };
  const expected = [21, 5, 5, 3];
  expect(found({ params: uniform }, { params: whole })).toEqual(expected);
  expect(found({ params: Params }, { params: { ...whole, _pad: 0 } })).toEqual(expected);
  expect(found({ size: vec2u, shift: uniform }, { size: [1, 2], shift: whole.shift })).toEqual(
    expected,
  );
  const shift = struct({ by: uniform, n: u32 });
  expect(
    found({ 'params.size': vec2u, shift }, { 'params.size': [1, 2], shift: whole.shift }),
  ).toEqual(expected);
});
