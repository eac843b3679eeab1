/**
 * One thread of a team: attaches, says so, waits for the gate, does its job, and says what came of
 * it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type ArrayHandle,
  attachArray,
  i32,
  kernel,
  type ManagedArray,
} from '../../../src/index.js';

const { handles, job, gate } = workerData as {
  handles: Record<string, ArrayHandle>;
  job: {
    kind: string;
    rounds: number;
    lane: number;
    lanes: number;
    begin: number;
    end: number;
    seed: number;
    value?: number;
  };
  gate: Int32Array;
};
const arrays = Object.fromEntries(
  Object.entries(handles).map(([name, handle]) => [
    name,
    attachArray(handle) as ManagedArray<Int32Array>,
  ]),
);

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

async function work(): Promise<unknown> {
  switch (job.kind) {
    case 'sum': {
      const { data } = arrays.x;
      let sum = 0;
      for (let i = 0; i < data.length; i++) sum += data[i];
      return sum;
    }
    case 'count': {
      const { data } = arrays.counters;
      for (let i = 0; i < job.rounds; i++) Atomics.add(data, (i % 16) * 1024, 1);
      return null;
    }
    case 'count one': {
      const { data } = arrays.counters;
      for (let i = 0; i < job.rounds; i++) Atomics.add(data, 0, 1);
      return null;
    }
    case 'stripe': {
      const { data } = arrays.x;
      for (let round = 0; round < job.rounds; round++) {
        for (let i = job.lane; i < data.length; i += job.lanes) data[i] += i;
      }
      return null;
    }
    case 'launch': {
      const { x } = arrays;
      const [device] = x.space.devices;
      const { begin, end } = job;
      using stream = device.stream();
      for (const by of [1, 1, 2]) stream.launch(add, { x, by }, { size: x.length, begin, end });
      await stream.synchronize();
      if (x.data[begin] !== 14 || x.data[end - 1] !== 14)
        return `${x.data[begin]} and ${x.data[end - 1]}`;
      return 'launched';
    }
    case 'allocate': {
      const { space } = arrays.anchor;
      const [device] = space.devices;
      for (let round = 0; round < job.rounds; round++) {
        const length = 1 + ((job.seed * 7919 + round * 104_729) % 400_000);
        const x = space.array(Int32Array, length);
        x.data.fill(job.seed);
        await device.run(add, { x, by: round }, { size: length });
        const wrong = x.data.findIndex((value) => value !== job.seed + round);
        if (wrong !== -1)
          return `element ${wrong} of ${length} is ${x.data[wrong]}, not ${job.seed + round}`;
        x.free();
      }
      return 'all right';
    }
    case 'turns': {
      const { turn } = arrays;
      const { space, data } = turn;
      for (let round = 0; round < job.rounds; ) {
        const now = Atomics.load(data, 0);
        if (now % job.lanes !== job.lane) {
          space.wait(turn, 0, now);
          continue;
        }
        // No other thread may come in between: a plain store would do.
        data[1] += job.lane + 1;
        Atomics.store(data, 0, now + 1);
        space.notify(turn, 0);
        round++;
      }
      return 'through';
    }
    case 'sleep': {
      const { turn, awake } = arrays;
      const results: string[] = [];
      while (Atomics.load(turn.data, 0) === 0) {
        Atomics.add(awake.data, 1, 1);
        results.push(turn.space.wait(turn, 0, 0));
        Atomics.add(awake.data, 0, 1);
      }
      return results;
    }
    case 'sleep for ever': {
      const { turn, awake } = arrays;
      Atomics.add(awake.data, 1, 1);
      try {
        for (;;) turn.space.wait(turn, 0, job.value ?? 0);
      } catch (error) {
        return (error as { code: string }).code;
      }
    }
    case 'after close': {
      const { x } = arrays;
      const codes: string[] = [];
      for (const action of [() => x.data, () => x.residency(), () => x.space.devices[0].stream()]) {
        try {
          action();
          codes.push('nothing');
        } catch (error) {
          codes.push((error as { code: string }).code);
        }
      }
      return `${codes.join(' ')} ${early[0]}`;
    }
    default:
      throw new Error(`no job '${job.kind}'`);
  }
}

// One that was made before the space closed: it must not fault for ever.
const early = Object.values(arrays)[0].data;
parentPort?.postMessage('ready');
Atomics.wait(gate, 0, 0);
parentPort?.postMessage(await work());
