/**
 * Arrays of a space in another process: to attach, a page fault there, and a sum over what is
 * present.
 */
import { once } from 'node:events';
import { openSpace } from '../src/index.js';
import { Agent, attachedAgent } from '../test/harness/agents.js';
import { buildReference } from './c-reference.js';
import { cReferences } from './cpu-fault.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { placements } from './placement.js';

const MIB = 2 ** 20;
const SHARED_BYTES = 1024 * MIB;
/** One page in so many is read. */
const STEP = 64;
const PAGES = 2048;
const ELEMENTS = 16 * MIB;
const OVERSUBSCRIBED_MIB = 128;
/** Processes on an array that is larger than memory. */
const TOGETHER = 4;

async function runAttach(settings: Settings): Promise<void> {
  await using space = await openSpace({ hostMemory: '2GiB' });
  const x = space.array(Int32Array, SHARED_BYTES / 4, { name: 'x' });
  x.data.fill(1);
  const handle = space.share({ rights: 'read' });
  const bytes = new Uint8Array(x.data.buffer, x.data.byteOffset, SHARED_BYTES);
  await compare(settings, {
    name: 'attach',
    unit: 'ms',
    better: 'lower',
    ours: async () => {
      await using agent = new Agent();
      await agent.do('names').catch(() => undefined);
      const elapsed = await agent.do('attachAndTouch', handle, 'x', STEP);
      verify(elapsed > 0, 'the sum of the pages');
      return elapsed;
    },
    references: {
      'all of it through a pipe': async () => {
        await using agent = new Agent();
        await agent.do('names').catch(() => undefined);
        const read = agent.do('pipeTimed', SHARED_BYTES);
        const { stdin } = agent.process;
        for (let at = 0; at < SHARED_BYTES; at += MIB)
          if (stdin?.write(bytes.subarray(at, at + MIB)) === false) await once(stdin, 'drain');
        return await read;
      },
    },
    extra: { bytes: SHARED_BYTES, pagesRead: SHARED_BYTES / 4096 / STEP },
  });
}

async function runFault(settings: Settings): Promise<void> {
  const reference = buildReference('faults');
  const free = placements.find(({ name }) => name === 'free');
  await using space = await openSpace({
    hostMemory: '512MiB',
    policies: { prefetch: 'none', readAhead: 'none' },
  });
  await compare(settings, {
    name: 'attached-fault',
    unit: 'us',
    better: 'lower',
    ours: async () => {
      const x = space.array(Int32Array, PAGES * 1024, { name: 'pages' });
      x.data.fill(1);
      await using agent = await attachedAgent(space.share());
      const elapsed = await agent.do('touchTimed', 'pages', PAGES);
      verify(elapsed > 0, 'the sum of the pages');
      x.free();
      return elapsed;
    },
    references:
      free === undefined
        ? {}
        : cReferences(reference, 'minor', PAGES, free, [], (ns) => ns / 1000 / PAGES),
    extra: { pages: PAGES },
  });
}

async function runResident(settings: Settings): Promise<void> {
  await using space = await openSpace({ hostMemory: '256MiB' });
  space.array(Int32Array, ELEMENTS, { name: 'x' }).data.fill(1);
  await using agent = await attachedAgent(space.share());
  for (let run = 0; run < 3; run++) await agent.do('sumTimed', 'x', run === 1);
  await compare(settings, {
    name: 'attached-resident',
    unit: 'ns',
    better: 'lower',
    ours: () => agent.do('sumTimed', 'x', false),
    references: { 'a plain array': () => agent.do('sumTimed', 'x', true) },
    extra: { elements: ELEMENTS },
  });
}

/** Each of the processes adds to a part of an array of twice the host memory; one does all. */
async function runOversubscribed(settings: Settings): Promise<void> {
  if (!settings.wants('attached-oversubscribed')) return;
  const words = (2 * OVERSUBSCRIBED_MIB * MIB) / 4;
  await using space = await openSpace({
    hostMemory: `${OVERSUBSCRIBED_MIB}MiB`,
    storage: { bytes: '1GiB' },
  });
  const x = space.array(Int32Array, words, { name: 'x' });
  x.data.fill(0);
  const agents = await Promise.all(
    Array.from({ length: TOGETHER }, () => attachedAgent(space.share())),
  );
  let times = 0;
  const timed = async (users: readonly Agent[]): Promise<number> => {
    const part = words / users.length;
    const start = performance.now();
    await Promise.all(users.map((agent, at) => agent.do('add', 'x', at * part, (at + 1) * part)));
    const elapsed = performance.now() - start;
    times++;
    verify(x.data[0] === times && x.data[words - 1] === times, 'what all have added');
    return elapsed;
  };
  await compare(settings, {
    name: 'attached-oversubscribed',
    unit: 'ms',
    better: 'lower',
    rotates: true,
    ours: () => timed(agents),
    references: { 'one process': () => timed(agents.slice(0, 1)) },
    extra: { bytes: words * 4, hostBytes: OVERSUBSCRIBED_MIB * MIB, processes: TOGETHER },
  });
  await Promise.all(agents.map((agent) => agent.kill()));
}

export const processBenches: readonly Bench[] = [
  {
    name: 'attach',
    what: 'ms to attach another process to 1 GiB and read one page in 64; beside all of it through a pipe',
    run: runAttach,
  },
  {
    name: 'attached-fault',
    what: 'us a page that is present, read first in an attached process; beside a handler in C in one process',
    run: runFault,
  },
  {
    name: 'attached-resident',
    what: 'ns an element of a sum in an attached process; beside a plain array there',
    run: runResident,
  },
  {
    name: 'attached-oversubscribed',
    what: 'ms of four attached processes to add to twice the host memory; beside one that does all',
    run: runOversubscribed,
  },
];
