import { f32, kernel } from 'onemem';

export const addOne = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

export const root = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  const half = (value) => (value > 4 ? value / 2 : Math.sqrt(value));
  for (let i = begin; i < end; i++) x[i] = half(x[i]);
});
