/**
 * Two programs do the tasks of one list, which they share by a server. One of them is killed in the
 * middle of a task; the other one hears what is lost with it, and does the rest.
 *
 *   node .build/examples/sharing/tasks.js valkey://127.0.0.1:6379
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { openSpace, type SharedArray } from 'onemem';

const TASKS = 64;
const [OPEN, DONE] = [0, -1];

const [url, name = `tasks-${process.pid}`, role = 'first'] = process.argv.slice(2);
if (url === undefined) {
  console.error('name a server: node tasks.js valkey://127.0.0.1:6379');
  process.exit(2);
}

const space = await openSpace();
const on = { url, leaseMs: 2000 };
/** Of each task: OPEN, DONE, or the number of the process that does it. */
const states = await space.sharedArray(Int32Array, TASKS, {
  name: `${name}-states`,
  on,
  blockBytes: 4096,
});
const results = await space.sharedArray(Float64Array, TASKS, {
  name: `${name}-results`,
  on,
  blockBytes: 4096,
});

const resultOf = (task: number): number => Math.sqrt(task) + task;

/** Takes a task that is in this state; -1: there is none. */
function take(state: number): number {
  for (let task = 0; task < TASKS; task++)
    if (Atomics.compareExchange(states.data, task, state, process.pid) === state) return task;
  return -1;
}

/**
 * What has been done is safe once it has been flushed: the result before it is said to be there.
 */
async function finish(task: number): Promise<void> {
  results.data[task] = resultOf(task);
  await results.fence();
  Atomics.store(states.data, task, DONE);
  await states.fence();
}

async function second(): Promise<never> {
  for (let done = 0; done < 20; done++) {
    const task = take(OPEN);
    if (task !== -1) await finish(task);
  }
  const task = take(OPEN);
  results.data[task] = Number.NaN;
  process.kill(process.pid, 'SIGKILL');
  throw new Error('a process that was killed goes on');
}

function noteLosses(array: Pick<SharedArray, 'name' | 'watch'>, notes: string[]): Promise<unknown> {
  return array.watch({
    onInvalidate: ({ changes }) => {
      for (const { reason, begin, end } of changes)
        if (reason === 'lost') notes.push(`${array.name} ${begin} to ${end - 1}`);
    },
  });
}

async function first(): Promise<void> {
  const losses: string[] = [];
  await noteLosses(states, losses);
  await noteLosses(results, losses);
  const other = fork(process.argv[1], [url, name, 'second']);
  const [, signal] = (await once(other, 'exit')) as [number | null, string | null];
  // The first touch waits until the other one's lease has ended.
  const theirs = states.data.filter((state) => state === DONE).length;
  for (const state of [OPEN, other.pid as number])
    for (let task = take(state); task !== -1; task = take(state)) await finish(task);
  for (let task = 0; task < TASKS; task++) {
    if (states.data[task] === DONE && results.data[task] === resultOf(task)) continue;
    throw new Error(`task ${task} has ${results.data[task]} instead of ${resultOf(task)}`);
  }
  console.log(
    `${theirs} tasks by the program that ended by ${signal}, ${TASKS - theirs} by this one: all are right`,
  );
  await space.close();
  const lost = losses.filter((each) => each.includes('results')).length;
  if (lost === 0) throw new Error('nobody said that something was lost');
}

await (role === 'second' ? second() : first());
