/**
 * Waits for a kernel that never ends, or in a fault for a device that is stopped. Arguments:
 * 'kernel' or 'fault'; 'listener': as the command.
 */
import { endOnSignals } from '../../../src/cli/terminal/interrupt.js';
import { i32, kernel, openSpace } from '../../../src/index.js';
import { stopProcess } from '../../harness/processes.js';

const [what, listener] = process.argv.slice(2);
if (listener === 'listener') endOnSignals(() => 'nothing was written');
const space = await openSpace({
  devices: [{ kind: 'process', memory: '8MiB' }],
  hostMemory: '256MiB',
});
const [device] = space.devices;
const x = space.array(Int32Array, 1024);
const write = kernel({ x: i32.inout }, ({ x }) => {
  x[0] = 1;
});
const endless = kernel({ x: i32.inout }, ({ x }) => {
  for (;;) x[0] += 1;
});
await device.run(write, { x }, { size: 1 });
if (what === 'fault') {
  await stopProcess(device.pid as number);
  // A store takes the page from the device, which has to answer.
  process.stdout.write(`ready ${device.pid}\n`, () => {
    x.data[0] = 2;
  });
} else {
  const running = device.run(endless, { x }, { size: 1 });
  process.stdout.write(`ready ${device.pid}\n`);
  await running;
}
