/** Code that a space calls, all of which prints. */
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { CreateDriver } from '../../../src/drivers/index.js';
import { SimulatedDevice } from '../../../src/drivers/simulated/simulated-device.js';
import type { FillFunction, KernelFunction, NotifierFunctions } from '../../../src/index.js';

if (!isMainThread) console.log('a module says something when it is loaded');

export const imported: KernelFunction<never> = () => {
  process.stdout.write('imported kernel says something\n');
};

export const descriptor: KernelFunction<never> = () => {
  writeSync(1, 'a kernel writes to descriptor 1\n');
};

export const fill: FillFunction = ({ values }) => {
  console.log('provider says something');
  values.fill(7 as never);
};

export function notified(): NotifierFunctions {
  return { invalidate: () => console.log('notifier says something') };
}

export const create: CreateDriver = (context) => {
  console.log('driver says something');
  return new SimulatedDevice(context);
};
