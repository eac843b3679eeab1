/**
 * Particles that pull each other, in a plane. Two devices share their positions: each moves its half
 * of them, and reads where all are. With --serve it goes on until it is interrupted, and a browser
 * shows the particles beside the pages that move for them.
 *
 *   node .build/examples/apps/particles.js --serve
 */
import { parseArgs } from 'node:util';
import { f32, i32, kernel, openSpace } from 'onemem';

const PARTICLES = 20_000;
const STEPS = 20;
const DEVICES = 2;
/** A frame of the picture. */
const FRAME_MS = 50;

/** Each is pulled by some of all, which stand for the rest. */
const pull = kernel(
  { x: f32.in, y: f32.in, u: f32.inout, v: f32.inout, first: i32 },
  ({ x, y, u, v, first }, { begin, end }) => {
    const stride = Math.floor(x.length / 32);
    for (let i = begin; i < end; i++) {
      let [pullX, pullY] = [0, 0];
      for (let other = 0; other < x.length; other += stride) {
        const [across, up] = [x[other] - x[first + i], y[other] - y[first + i]];
        const near = across * across + up * up + 0.05;
        const strength = 1 / (32 * near * Math.sqrt(near));
        pullX += across * strength;
        pullY += up * strength;
      }
      u[i] += 0.02 * pullX;
      v[i] += 0.02 * pullY;
    }
  },
);

const drift = kernel(
  { x: f32.inout, y: f32.inout, u: f32.in, v: f32.in },
  ({ x, y, u, v }, { begin, end }) => {
    for (let i = begin; i < end; i++) {
      x[i] += 0.02 * u[i];
      y[i] += 0.02 * v[i];
    }
  },
);

interface Particles {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly u: Float32Array;
  readonly v: Float32Array;
}

/** Two discs that turn, beside each other. */
function place({ x, y, u, v }: Particles): void {
  for (let i = 0; i < x.length; i++) {
    const side = i % 2 === 0 ? -1 : 1;
    const radius = 0.7 * Math.sqrt(((i * 0.754877666) % 1) + 0.01);
    const angle = 2 * Math.PI * ((i * 0.569840291) % 1);
    x[i] = side + radius * Math.cos(angle);
    y[i] = 0.4 * side + radius * Math.sin(angle);
    u[i] = -0.8 * radius * Math.sin(angle) - 0.25 * side;
    v[i] = 0.8 * radius * Math.cos(angle);
  }
}

/** The same steps by the same functions, on memory of this thread alone. */
function plainSteps(steps: number): Particles {
  const zeros = () => new Float32Array(PARTICLES);
  const all = { x: zeros(), y: zeros(), u: zeros(), v: zeros() };
  place(all);
  const range = { begin: 0, end: PARTICLES, size: PARTICLES, unit: 0, units: 1 };
  for (let step = 0; step < steps; step++) {
    pull.kernel?.({ ...all, first: 0 }, range);
    drift.kernel?.(all, range);
  }
  return all;
}

const { values } = parseArgs({ options: { serve: { type: 'boolean', default: false } } });
const device = { kind: 'process', memory: '8MiB' } as const;
await using space = await openSpace({ devices: new Array(DEVICES).fill(device) });
const array = (name: string) => space.array(Float32Array, PARTICLES, { name });
const [x, y, u, v] = [array('x'), array('y'), array('u'), array('v')];
place({ x: x.data, y: y.data, u: u.data, v: v.data });

/** All devices work at a time, each on its part. */
async function step(): Promise<void> {
  const size = PARTICLES / DEVICES;
  const parts = space.devices.map((own, at) => ({ own, begin: at * size, end: (at + 1) * size }));
  await Promise.all(
    parts.map(({ own, begin, end }) => {
      const speeds = { u: u.range(begin, end), v: v.range(begin, end) };
      return own.run(pull, { x, y, ...speeds, first: begin }, { size });
    }),
  );
  await Promise.all(
    parts.map(({ own, begin, end }) => {
      const places = { x: x.range(begin, end), y: y.range(begin, end) };
      return own.run(
        drift,
        { ...places, u: u.range(begin, end), v: v.range(begin, end) },
        { size },
      );
    }),
  );
}

if (values.serve) {
  const { url } = await space.serve({ points: [{ name: 'particles', x, y }] });
  console.log(`the particles are at ${url}`);
  for (;;) {
    await step();
    await new Promise((resolve) => setTimeout(resolve, FRAME_MS));
  }
}

for (let done = 0; done < STEPS; done++) await step();
const known = plainSteps(STEPS);
for (let i = 0; i < PARTICLES; i++)
  if (x.data[i] !== known.x[i] || y.data[i] !== known.y[i])
    throw new Error(
      `particle ${i} is at ${x.data[i]}, ${y.data[i]} and not ${known.x[i]}, ${known.y[i]}`,
    );
const launches = space.devices.map((own) => own.stats().launches);
console.log(`${PARTICLES} particles went ${STEPS} steps on ${DEVICES} devices, and all are right`);
console.log(`launches on each: ${launches.join(', ')}`);
