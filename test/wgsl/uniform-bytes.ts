/** The bytes of a uniform variable, by the layout that the description has. */
import type { Resource } from '../../src/wgsl/reading/describe.js';
import type { Type } from '../../src/wgsl/reading/types.js';
import type { UniformValue } from '../../src/wgsl/reading/uniform-value.js';

export function uniformBytes({ type, minBytes }: Resource, value: UniformValue): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(Math.ceil(minBytes / 16) * 16));
  put(view, 0, type, value);
  return view.buffer as ArrayBuffer;
}

function put(view: DataView, at: number, type: Type, value: UniformValue): void {
  if (type.kind === 'struct') {
    for (const { name, type: of, offset } of type.members)
      put(view, at + offset, of, (value as Record<string, UniformValue>)[name] as UniformValue);
  } else if (type.kind === 'vector') {
    for (const [index, each] of (value as UniformValue[]).entries())
      put(view, at + 4 * index, { kind: 'scalar', name: type.component }, each);
  } else if (type.kind === 'scalar' && type.name === 'f32')
    view.setFloat32(at, value as number, true);
  else if (type.kind === 'scalar') view.setUint32(at, value as number, true);
  else throw new Error(`no bytes for a ${type.kind}`);
}
