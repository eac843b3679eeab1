/** Uses views of arrays whose space has been closed, in the way that it is told. */
import { once } from 'node:events';
import { readdirSync, writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';
import { say } from '../../integration/programs/common.js';

const [way] = process.argv.slice(2);
const options = { hostMemory: '256MiB' } as const;
const threads = (): number => readdirSync('/proc/self/task').length;

async function closed(name: string): Promise<Float32Array> {
  const space = await openSpace(options);
  const { data } = space.array(Float32Array, 10_000, { name });
  data.fill(4);
  await space.close();
  return data;
}

switch (way) {
  case 'store':
    (await closed('late'))[1] = 1;
    break;
  case 'store after load': {
    const data = await closed('late');
    say(`read ${data[1]}`);
    data[1]++;
    break;
  }
  case 'load': {
    const data = await closed('late');
    say(`read ${data.reduce((sum, x) => sum + x, 0)}`);
    break;
  }
  case 'store through a system call': {
    const data = await closed('late');
    const { readSync, openSync } = await import('node:fs');
    try {
      readSync(openSync('/proc/self/exe', 'r'), data, 0, 100, 0);
    } catch (error) {
      say(`read failed with ${(error as { code: string }).code}`);
    }
    break;
  }
  case 'first of several': {
    const all: Float32Array[] = [];
    const before = threads();
    for (let i = 0; i < 5; i++) all.push(await closed(`array${i}`));
    // One pair of threads at most for all of them, when those that were replaced have ended.
    while (threads() > before + 2) await new Promise((resolve) => setTimeout(resolve, 10));
    say('few threads');
    const next = await openSpace(options);
    const y = next.array(Float32Array, 10);
    y.data[0] = 5;
    say(`read ${all[2][5]} ${y.data[0]}`);
    all[0][1] = 1;
    break;
  }
  case 'in another thread': {
    const space = await openSpace(options);
    const array = space.array(Float32Array, 10_000, { name: 'late' });
    const worker = new Worker(new URL('./late-store-thread.js', import.meta.url), {
      workerData: array.handle,
    });
    await once(worker, 'message');
    await space.close();
    worker.postMessage('go');
    await once(worker, 'message');
    break;
  }
  case 'dropped': {
    // Nothing is left of spaces whose views have gone: no thread, no descriptor.
    const { setFlagsFromString } = await import('node:v8');
    const { runInNewContext } = await import('node:vm');
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const before = [threads(), readdirSync('/proc/self/fd').length];
    for (let i = 0; i < 3; i++) await closed(`array${i}`);
    for (;;) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 20));
      const now = [threads(), readdirSync('/proc/self/fd').length];
      if (now[0] <= before[0] && now[1] <= before[1]) break;
    }
    say('gone');
    break;
  }
  default:
    throw new Error(`no way '${way}'`);
}
if (way.includes('store') || way.includes('first') || way.includes('another')) say('survived');
writeSync(1, 'end\n');
