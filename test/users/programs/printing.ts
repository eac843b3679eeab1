/**
 * Prints 'own line' to standard output; everything else that is printed here comes from code that a
 * space calls.
 */
import { type DeviceSpecification, f32, kernel, openSpace } from '../../../src/index.js';

const device = process.argv[2];
const module = new URL('./printers.js', import.meta.url);
const specifications: Record<string, DeviceSpecification> = {
  process: { kind: 'process', memory: '16MiB' },
  simulated: { kind: 'simulated', memory: '16MiB' },
  custom: { kind: 'custom', memory: '16MiB', driver: { module, export: 'create' } },
};

const inline = kernel({ x: f32.inout }, function inline({ x }, { begin }) {
  if (begin === 0) console.log('inline kernel says', x[0]);
  x[0] = 2;
});
const imported = kernel({ x: f32.inout }, { module, export: 'imported' });

const space = await openSpace({ devices: [specifications[device]] });
const x = space.array(Float32Array, 1000);
x.data[0] = 1;
const subscription = await x.watch({ module, export: 'notified' });
await space.devices[0].run(inline, { x }, { size: 1000 });
await space.devices[0].run(imported, { x }, { size: 1000 });
// A device with a process of its own has standard output of its own, by whatever way a kernel
// writes to it.
if (device === 'process')
  await space.devices[0].run(kernel({}, { module, export: 'descriptor' }), {}, { size: 1 });
subscription.close();
const provided = await space.providedArray(Float32Array, 1000, { module, export: 'fill' });
if (provided.data[0] !== 7) throw new Error(`the provider gave ${provided.data[0]}`);
await space.close();
console.log('own line');
