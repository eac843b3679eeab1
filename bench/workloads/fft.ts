/** Stockham's FFT of complex numbers, a launch for each of its passes. */
import { f32, i32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

interface Args {
  re: Float32Array;
  im: Float32Array;
  outRe: Float32Array;
  outIm: Float32Array;
  span: number;
}

const pass = task(
  { re: f32.in, im: f32.in, outRe: f32.out, outIm: f32.out, span: i32 },
  ({ re, im, outRe, outIm, span }: Args, { begin, end, size }) => {
    for (let i = begin; i < end; i++) {
      const within = i % span;
      const angle = (-Math.PI * within) / span;
      const cos = Math.cos(angle);
      const sin = Math.sin(angle);
      const bRe = re[i + size] * cos - im[i + size] * sin;
      const bIm = re[i + size] * sin + im[i + size] * cos;
      const at = 2 * (i - within) + within;
      outRe[at] = re[i] + bRe;
      outIm[at] = im[i] + bIm;
      outRe[at + span] = re[i] - bRe;
      outIm[at + span] = im[i] - bIm;
    }
  },
);
/** Of the wave that is transformed. */
const FREQUENCY = 5;

export const fft: Workload = {
  name: 'fft',
  make(bytes) {
    const length = 2 ** Math.floor(Math.log2(bytes / 16));
    const wave = (turn: number) =>
      Float32Array.from({ length }, (_, i) =>
        Math.cos((2 * Math.PI * ((FREQUENCY * i) % length)) / length - turn),
      );
    const re = wave(0);
    const im = wave(Math.PI / 2);
    const empty = () => new Float32Array(length);
    const names = [
      ['re', 'im'],
      ['re2', 'im2'],
    ];
    const launches = Array.from({ length: Math.log2(length) }, (_, at) => {
      const [from, to] = at % 2 === 0 ? names : names.toReversed();
      const args = { re: from[0], im: from[1], outRe: to[0], outIm: to[1], span: 2 ** at };
      return { task: pass, args, size: length / 2 };
    });
    const last = launches.length % 2 === 0 ? 're' : 're2';
    return {
      arrays: { re, im, re2: empty(), im2: empty() },
      launches,
      known: (result) => {
        expect(Math.abs(result[last][FREQUENCY] / length - 1) < 1e-3, 'the wave has its frequency');
        expect(Math.abs(result[last][FREQUENCY + 1] / length) < 1e-3, 'and no other');
      },
    };
  },
};
