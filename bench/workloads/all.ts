/** All workloads. */
import { bfs } from './bfs.js';
import { decode } from './decode.js';
import { dnn } from './dnn.js';
import { fft } from './fft.js';
import { gather } from './gather.js';
import { join } from './join.js';
import { particles } from './particles.js';
import { sgemm } from './sgemm.js';
import { stencil } from './stencil.js';
import { triad } from './triad.js';
import { updates } from './updates.js';
import type { Workload } from './workload.js';

export const WORKLOADS: readonly Workload[] = [
  triad,
  sgemm,
  stencil,
  fft,
  bfs,
  join,
  gather,
  decode,
  dnn,
  particles,
  updates,
];
