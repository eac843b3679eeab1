import { beforeEach, describe, expect, it } from 'vitest';
import { Access, type DeviceDescription, Status } from '../core/basics/types.js';
import { CheckedDriver } from './checked-driver.js';
import type { Driver, DriverLaunch } from './driver.js';
import { orderIn } from './test-orders.js';

const description: DeviceDescription = {
  name: 'd',
  budgetPages: 8,
  frames: 'pooled',
  faults: false,
  addressable: false,
  units: 0,
  memorySurvives: true,
};
const launch: DriverLaunch = {
  id: 7,
  kernelName: 'k',
  code: { kind: 'inline', source: 'k' },
  parameters: [],
  begin: 0,
  end: 1,
  size: 1,
};

describe('CheckedDriver', () => {
  let heard: unknown[];
  let warnings: string[];
  let driver: { -readonly [K in keyof Driver]: Driver[K] };
  let checked: CheckedDriver;

  const copyIn = (token: number): Status =>
    checked.transferIn(orderIn(token, 0, 0, 1, 0, Access.Read, false));

  beforeEach(() => {
    heard = [];
    warnings = [];
    driver = {
      kind: 'test',
      memory: 0,
      description,
      map: () => undefined,
      revoke: () => Status.Done,
      release: () => Status.Done,
      wake: () => undefined,
      transferIn: () => Status.Pending,
      transferOut: () => Status.Pending,
      close: () => undefined,
    };
    checked = new CheckedDriver(
      { name: 'd', budgetPages: 8 },
      {
        fault: (...fault) => heard.push(['fault', ...fault]),
        transferred: (...copy) => heard.push(['transferred', ...copy]),
        revoked: (token) => heard.push(['revoked', token]),
        released: (token) => heard.push(['released', token]),
        launched: (id, failure) => heard.push(['launched', id, failure?.code ?? null]),
        died: (reason) => heard.push(['died', reason]),
      },
      (message) => warnings.push(message),
    );
    checked.adopt(driver);
  });

  it('tells what the driver says when the command has returned', () => {
    driver.transferIn = ({ token }) => {
      checked.events.transferred(token, Status.Done);
      return Status.Pending;
    };
    expect(copyIn(3)).toBe(Status.Pending);
    expect(heard).toEqual([]);
    expect(checked.waiting).toBe(true);
    expect(checked.progress()).toBe(true);
    expect(heard).toEqual([['transferred', 3, Status.Done]]);
    expect(checked.waiting).toBe(false);
    expect(checked.progress()).toBe(false);
  });

  it('answers everything that is pending before it says that the device has died', () => {
    driver.revoke = () => Status.Pending;
    driver.launch = () => undefined;
    copyIn(3);
    checked.revoke(5, 0, 1, Access.None);
    checked.launch(launch);
    driver.progress = () => {
      throw new Error('no more');
    };
    checked.progress();
    const reason = expect.stringMatching(/^its driver threw in progress: Error: no more/);
    expect(heard).toEqual([
      ['transferred', 3, Status.Lost],
      ['revoked', 5],
      ['launched', 7, 'DEVICE_LOST'],
      ['died', reason],
    ]);
    expect(warnings).toEqual([
      expect.stringMatching(/^device d: its driver threw.*; the device counts as dead$/),
    ]);
    expect(checked.description.memorySurvives).toBe(false);
    // Whatever comes now, the driver is not asked.
    driver.transferIn = () => expect.unreachable('it is dead');
    expect(copyIn(9)).toBe(Status.Lost);
    expect(checked.revoke(9, 0, 1, Access.None)).toBe(Status.Done);
    checked.events.transferred(3, Status.Done);
    checked.progress();
    expect(heard.length).toBe(4);
  });

  it('has a launch ended by a driver that can do that, and no other launch', () => {
    expect(checked.canAbort).toBe(false);
    checked.abort(7);
    const asked: number[] = [];
    driver.launch = () => undefined;
    driver.abort = (id) => {
      asked.push(id);
      checked.events.launched(id, { code: 'ABORTED', message: 'as it was told' });
    };
    expect(checked.canAbort).toBe(true);
    checked.abort(7);
    checked.launch(launch);
    checked.abort(7);
    checked.progress();
    checked.abort(7);
    expect(asked).toEqual([7]);
    expect(heard).toEqual([['launched', 7, 'ABORTED']]);
  });

  it.each([
    [
      'a copy that nobody asked for',
      (to: CheckedDriver) => to.events.transferred(4, Status.Done),
      /answered copy 4/,
    ],
    [
      'a revocation that nobody asked for',
      (to: CheckedDriver) => to.events.revoked(4),
      /answered revocation 4/,
    ],
    [
      'a launch that does not run',
      (to: CheckedDriver) => to.events.launched(4, null),
      /ended launch 4/,
    ],
    [
      'an end that is none',
      (to: CheckedDriver) => to.events.transferred(3, Status.Pending),
      /ended a copy with 1/,
    ],
    [
      'a fault without faults',
      (to: CheckedDriver) => to.events.fault(1, true, 0),
      /reported a page fault/,
    ],
  ])('takes the device for dead after %s', (_name, say, message) => {
    copyIn(3);
    say(checked);
    checked.progress();
    expect(heard.at(-1)).toEqual(['died', expect.stringMatching(message)]);
  });

  it('keeps the memory of a device that says itself that it died', () => {
    copyIn(3);
    checked.events.transferred(3, Status.Lost);
    checked.events.died('pulled out');
    checked.progress();
    expect(heard).toEqual([
      ['transferred', 3, Status.Lost],
      ['died', 'pulled out'],
    ]);
    expect(checked.description.memorySurvives).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('takes a device for dead that loses copies and says no more', () => {
    copyIn(3);
    checked.events.transferred(3, Status.Lost);
    checked.progress();
    expect(heard.at(-1)).toEqual(['died', 'it lost a copy']);
  });

  it('takes a device for dead that does not answer', () => {
    copyIn(3);
    for (let look = 0; look < 10; look++) checked.look();
    checked.progress();
    expect(heard).toEqual([]);
    checked.look();
    checked.progress();
    expect(heard).toEqual([
      ['transferred', 3, Status.Lost],
      ['died', 'its driver has not answered a copy for 10 s'],
    ]);
  });

  it('ends a device that cannot be ended, and launches of one that cannot launch', () => {
    checked.launch(launch);
    checked.progress();
    checked.lose('on purpose');
    checked.progress();
    expect(heard).toEqual([
      ['launched', 7, 'KERNEL_ERROR'],
      ['died', 'on purpose'],
    ]);
  });

  it.each([
    ['no description', { description: undefined }, /has no description/],
    ['a kind that is no word', { kind: 7 }, /has kind 7/],
    [
      'frames of another kind',
      { description: { ...description, frames: 'some' } },
      /frames 'some'/,
    ],
    [
      'flags that are none',
      { description: { ...description, faults: 'no' } },
      /faults is no boolean/,
    ],
    [
      'a claim to map host memory',
      { description: { ...description, remoteAccess: true } },
      /no way to map host memory/,
    ],
    [
      'a granularity that is no power of two',
      { description: { ...description, granularityBytes: 3072 } },
      /granularityBytes of 3072 bytes; it must be a power of two from 4096/,
    ],
    [
      'a granularity of which its memory has room for one granule only',
      { description: { ...description, granularityBytes: 32_768 } },
      /granularityBytes of 32768, and a budgetPages of 8: .* room for two granules; .* at least 65536 bytes/,
    ],
    ['memory nowhere', { description: { ...description, addressable: true } }, /has memory 0/],
    ['a launch that is no function', { launch: 1 }, /launch that is no function/],
  ])('refuses a driver with %s', (_name, change, message) => {
    expect(() => checked.adopt({ ...driver, ...change })).toThrow(message);
  });
});
