/** A driver with one kind of trouble, which its options name. It wraps the simulated device. */
import {
  type CreateDriver,
  type Driver,
  type DriverEvents,
  Status,
} from '../../../src/drivers/index.js';
import { SimulatedDevice } from '../../../src/drivers/simulated/simulated-device.js';

export type Trouble =
  | 'none'
  | 'late answers'
  | 'throws at once'
  | 'throws while it starts'
  | 'is nothing'
  | 'lacks a command'
  | 'has another name'
  | 'has too much memory'
  | 'has too many units'
  | 'cannot copy out'
  | 'never returns'
  | 'throws in map'
  | 'throws in revoke'
  | 'throws in release'
  | 'throws in transferIn'
  | 'throws in transferOut'
  | 'throws in launch'
  | 'throws in progress'
  | 'answers nonsense'
  | 'faults without faults'
  | 'dies by itself';

/** So many calls go well. */
const PATIENCE = 2;

export const create: CreateDriver = async (context) => {
  const { budgetPages, events, options } = context;
  const { trouble } = options as { readonly trouble: Trouble };
  const late = trouble === 'late answers';
  const lateEvents: DriverEvents = {
    ...events,
    transferred: (token, status) => {
      // Each by another way into the event loop.
      if (!late) events.transferred(token, status);
      else if (token % 3 === 0) setTimeout(() => events.transferred(token, status), 2);
      else if (token % 3 === 1) setImmediate(() => events.transferred(token, status));
      else Promise.resolve().then(() => events.transferred(token, status));
    },
    launched: (id, failure) => {
      if (late) setTimeout(() => events.launched(id, failure), 5);
      else events.launched(id, failure);
    },
  };
  const device: Driver = new SimulatedDevice({ ...context, events: lateEvents });
  let calls = 0;
  let launched = false;
  const wrong = (): never => {
    throw new TypeError('out of order');
  };
  const fails = (command: keyof Driver, now = ++calls > PATIENCE): boolean =>
    trouble === `throws in ${command}` && now;
  const driver: Driver = {
    kind: 'troubled',
    memory: 0,
    description: device.description,
    map: (...given) => (fails('map', true) ? wrong() : device.map(...given)),
    revoke: (...given) => (fails('revoke', true) ? wrong() : device.revoke(...given)),
    release: (...given) => (fails('release', true) ? wrong() : device.release(...given)),
    wake: () => undefined,
    transferIn: (...given) => {
      if (fails('transferIn')) wrong();
      while (trouble === 'never returns');
      if (trouble === 'answers nonsense' && ++calls > PATIENCE)
        return undefined as unknown as Status;
      return device.transferIn(...given);
    },
    transferOut: (...given) =>
      fails('transferOut') ? wrong() : (device.transferOut?.(...given) ?? Status.Failed),
    launch: (launch) => {
      if (fails('launch', true)) wrong();
      if (trouble === 'faults without faults') events.fault(0, true, 1);
      launched = true;
      if (trouble === 'dies by itself') setTimeout(() => events.died('the card was pulled out'), 1);
      else device.launch?.(launch);
    },
    progress: () =>
      fails('progress', launched) || trouble === 'throws while it starts'
        ? wrong()
        : (device.progress?.() ?? false),
    lose: (reason) => device.lose?.(reason),
    close: () => device.close(),
  };
  switch (trouble) {
    case 'throws at once':
      throw new Error('no hardware found');
    case 'is nothing':
      return undefined as unknown as Driver;
    case 'lacks a command':
      return { ...driver, revoke: undefined as unknown as Driver['revoke'] };
    case 'has another name':
      return { ...driver, description: { ...driver.description, name: 'yours' } };
    case 'has too much memory':
      return { ...driver, description: { ...driver.description, budgetPages: budgetPages + 1 } };
    case 'has too many units':
      return { ...driver, description: { ...driver.description, faults: true, units: 100 } };
    case 'cannot copy out':
      return { ...driver, transferOut: undefined };
    default:
      return driver;
  }
};
