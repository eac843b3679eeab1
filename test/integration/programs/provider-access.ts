/** Touches arrays whose provider does not fill them, with the CPU. */
import { openSync, writeSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import { type ArrayHandle, openSpace } from '../../../src/index.js';
import { say, wait } from './common.js';
import { Word } from './provider-functions.js';

const [way, path] = process.argv.slice(2);
const module = new URL('./provider-functions.js', import.meta.url);
const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
const words = new Int32Array(new SharedArrayBuffer(20));
const timeoutMs = way === 'hang' ? 300 : 5000;

/** Sends a handle to the thread that asks for it on the channel. */
function handOut(name: string, handle: ArrayHandle): void {
  const channel = new BroadcastChannel(name);
  channel.onmessage = (event) => {
    if ((event as unknown as { data: unknown }).data === 'wanted') channel.postMessage(handle);
  };
}

function provided(name: string, exportName: string, data: Record<string, unknown> = {}) {
  return space.providedArray(Int32Array, 2 ** 20, {
    module,
    export: exportName,
    data: { words, ...data },
    name,
    timeoutMs,
  });
}

switch (way) {
  case 'refused': {
    const { data } = await provided('secret', 'refuseSome');
    say(`first ${data[5]}`);
    say(`survived ${data[2 ** 18 + 1]}`);
    break;
  }
  case 'thrown': {
    const { data } = await provided('broken', 'throwError');
    say(`survived ${data[3000]}`);
    break;
  }
  case 'hang': {
    const { data } = await provided('slow', 'spin');
    say(`survived ${data[3000]}`);
    break;
  }
  case 'system call': {
    // A system call is not worth the process: it is told that the address is none of its own.
    const array = await provided('moody', 'throwAtTimes');
    const { data } = array;
    words[Word.Fails] = 1000;
    const out = openSync(path, 'w+');
    for (let round = 0; round < 2; round++) {
      try {
        say(`written ${writeSync(out, data, 0, 4096)}`);
      } catch (error) {
        say(`system call failed with ${(error as { code: string }).code}`);
      }
    }
    // Whatever brings the page makes it good for all processors.
    words[Word.Fails] = 0;
    using stream = space.devices[0].stream();
    stream.prefetch(array.range(0, 1024), 'host');
    await stream.synchronize();
    say(`written ${writeSync(out, data, 0, 4096)}, element ${data[5]}`);
    await space.close();
    break;
  }
  case 'own array': {
    const array = await provided('selfish', 'fillFromChannel', { channel: 'own' });
    handOut('own', array.handle);
    // The main thread must stay able to hand the handle out.
    void array.writeTo(openSync('/dev/null', 'w')).then(() => say('survived'));
    wait();
    break;
  }
  case 'circle': {
    const a = await provided('hen', 'fillFromChannel', { channel: 'egg' });
    const b = await provided('egg', 'fillFromChannel', { channel: 'hen' });
    handOut('hen', a.handle);
    handOut('egg', b.handle);
    void a.writeTo(openSync('/dev/null', 'w')).then(() => say('survived'));
    wait();
    break;
  }
  default:
    throw new Error(`no way '${way}'`);
}
