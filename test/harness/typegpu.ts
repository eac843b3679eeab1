/** Functions of TypeGPU, as its build plugin leaves them: each has its syntax tree beside it. */
import { d, tgpu } from 'typegpu';

type Metadata = { v: 1; name: string; ast: object; externals: () => object };

/** What unplugin-typegpu puts around a function that is marked 'use gpu'. */
export function built<F extends (...args: never[]) => unknown>(
  name: string,
  body: F,
  [parameters, statements]: readonly [readonly string[], readonly unknown[]],
  externals: () => object,
): F {
  const shared = globalThis as { __TYPEGPU_META__?: WeakMap<object, Metadata> };
  shared.__TYPEGPU_META__ ??= new WeakMap();
  const params = parameters.map((each) => ({ type: 'i', name: each }));
  const ast = { params, body: [0, statements], externalNames: Object.keys(externals()) };
  shared.__TYPEGPU_META__.set(body, { v: 1, name, ast, externals });
  return body;
}

/** x[i] += by. What `check` throws is for where the function itself is called. */
export function adding(
  type: 'f32' | 'i32' | 'u32',
  check: (i: number, length: number) => void = () => undefined,
) {
  const layout = tgpu.bindGroupLayout({
    x: { storage: d.arrayOf(d[type]), access: 'mutable' },
    by: { uniform: d[type] },
  });
  const $ = [7, 'layout', '$'];
  return built(
    'add',
    (i: number) => {
      const { x, by } = layout.$;
      check(i, x.length);
      x[i] += by;
    },
    [['i'], [[2, [8, [7, $, 'x'], 'i'], '+=', [7, $, 'by']]]],
    () => ({ layout }),
  );
}
