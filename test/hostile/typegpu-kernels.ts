/** Kernels of TypeGPU of the hostile calls. The processes of devices import this module, too. */
import { d, tgpu } from 'typegpu';
import { f32, kernel } from '../../src/index.js';
import { adding } from '../harness/typegpu.js';

/** The size of a launch may be anything: what is called for each index ends beyond the array. */
export const add = adding('f32', (i, length) => {
  if (i >= length) throw new RangeError('on purpose');
});

export const entry = tgpu.computeFn({
  workgroupSize: [64],
  in: { id: d.builtin.globalInvocationId },
})`{ }`.$name('main');

const parameters = { x: f32.inout, by: f32 };

export const added = kernel(parameters, { typegpu: add, module: import.meta.url, export: 'added' });
/** Of no device that the hostile calls have. */
export const addedOnGpus = kernel(parameters, { typegpu: add });
