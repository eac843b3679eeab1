/** Breadth-first search of an R-MAT graph: vertices look for a neighbour of the level before. */
import { i32 } from '../../src/index.js';
import { expect, randomNumbers, task, type Workload } from './workload.js';

interface Args {
  starts: Int32Array;
  edges: Int32Array;
  before: Int32Array;
  levels: Int32Array;
  level: number;
}

const DEGREE = 16;
const LEVELS = 7;
const look = task(
  { starts: i32.in, edges: i32.in, before: i32.in, levels: i32.inout, level: i32 },
  ({ starts, edges, before, levels, level }: Args, { begin, end }) => {
    for (let vertex = begin; vertex < end; vertex++) {
      levels[vertex] = before[vertex];
      if (before[vertex] !== -1) continue;
      for (let at = starts[vertex]; at < starts[vertex + 1]; at++) {
        if (before[edges[at]] !== level) continue;
        levels[vertex] = level + 1;
        break;
      }
    }
  },
);

/** Chakrabarti et al., "R-MAT", SDM 2004, with the shares of Graph 500. */
function rmat(scale: number, edges: number): { starts: Int32Array; targets: Int32Array } {
  const random = randomNumbers(5);
  const from = new Int32Array(edges);
  const to = new Int32Array(edges);
  const starts = new Int32Array(2 ** scale + 1);
  for (let edge = 0; edge < edges; edge++) {
    for (let bit = 0; bit < scale; bit++) {
      const at = random();
      from[edge] = from[edge] * 2 + (at < 0.76 ? 0 : 1);
      to[edge] = to[edge] * 2 + (at < 0.57 || (at >= 0.76 && at < 0.95) ? 0 : 1);
    }
    starts[from[edge] + 1]++;
  }
  for (let vertex = 0; vertex < 2 ** scale; vertex++) starts[vertex + 1] += starts[vertex];
  const next = starts.slice();
  const targets = new Int32Array(edges);
  for (let edge = 0; edge < edges; edge++) targets[next[from[edge]]++] = to[edge];
  return { starts, targets };
}

export const bfs: Workload = {
  name: 'bfs',
  make(bytes) {
    const scale = Math.floor(Math.log2(bytes / 4 / (DEGREE + 3)));
    const vertices = 2 ** scale;
    const { starts, targets } = rmat(scale, vertices * DEGREE);
    const levels = new Int32Array(vertices).fill(-1);
    levels[0] = 0;
    const launches = Array.from({ length: LEVELS }, (_, level) => {
      const [before, after] = level % 2 === 0 ? ['a', 'b'] : ['b', 'a'];
      const args = { starts: 'starts', edges: 'edges', before, levels: after, level };
      return { task: look, args, size: vertices };
    });
    return {
      arrays: {
        starts: starts as Int32Array<ArrayBuffer>,
        edges: targets as Int32Array<ArrayBuffer>,
        a: levels,
        b: levels.slice(),
      },
      launches,
      known: ({ b }) => {
        for (let vertex = 0; vertex < vertices; vertex += 997) {
          if (b[vertex] < 1) continue;
          const near = targets.subarray(starts[vertex], starts[vertex + 1]);
          const least = Math.min(...[...near].map((each) => (b[each] === -1 ? 99 : b[each])));
          expect(least === b[vertex] - 1, `vertex ${vertex} is one level behind a neighbour`);
        }
      },
    };
  },
};
