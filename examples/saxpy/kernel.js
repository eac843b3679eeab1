// y += alpha * x, over files of any size:
//
//   node examples/saxpy/make-data.js
//   npx onemem run examples/saxpy/kernel.js --in x=x.npy --inout y=y.npy --set alpha=3 --device-memory 64MiB

export default {
  params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },

  kernel({ x, y, alpha }, { begin, end }) {
    for (let i = begin; i < end; i++) y[i] += alpha * x[i];
  },
};
