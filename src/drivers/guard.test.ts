import { beforeEach, describe, expect, it } from 'vitest';
import { Access, type DeviceDescription, Status } from '../core/basics/types.js';
import type { Driver, DriverLaunch } from './driver.js';
import { DriverGuard } from './guard.js';
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

describe('DriverGuard', () => {
  let heard: unknown[];
  let warnings: string[];
  let driver: { -readonly [K in keyof Driver]: Driver[K] };
  let guard: DriverGuard;

  const copyIn = (token: number): Status =>
    guard.transferIn(orderIn(token, 0, 0, 1, 0, Access.Read, false));

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
    guard = new DriverGuard(
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
    guard.adopt(driver);
  });

  it('tells what the driver says when the command has returned', () => {
    driver.transferIn = ({ token }) => {
      guard.events.transferred(token, Status.Done);
      return Status.Pending;
    };
    expect(copyIn(3)).toBe(Status.Pending);
    expect(heard).toEqual([]);
    expect(guard.waiting).toBe(true);
    expect(guard.progress()).toBe(true);
    expect(heard).toEqual([['transferred', 3, Status.Done]]);
    expect(guard.waiting).toBe(false);
    expect(guard.progress()).toBe(false);
  });

  it('answers everything that is pending before it says that the device has died', () => {
    driver.revoke = () => Status.Pending;
    driver.launch = () => undefined;
    copyIn(3);
    guard.revoke(5, 0, 1, Access.None);
    guard.launch(launch);
    driver.progress = () => {
      throw new Error('no more');
    };
    guard.progress();
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
    expect(guard.description.memorySurvives).toBe(false);
    // Whatever comes now, the driver is not asked.
    driver.transferIn = () => expect.unreachable('it is dead');
    expect(copyIn(9)).toBe(Status.Lost);
    expect(guard.revoke(9, 0, 1, Access.None)).toBe(Status.Done);
    guard.events.transferred(3, Status.Done);
    guard.progress();
    expect(heard.length).toBe(4);
  });

  it('has a launch ended by a driver that can do that, and no other launch', () => {
    expect(guard.canAbort).toBe(false);
    guard.abort(7);
    const asked: number[] = [];
    driver.launch = () => undefined;
    driver.abort = (id) => {
      asked.push(id);
      guard.events.launched(id, { code: 'ABORTED', message: 'as it was told' });
    };
    expect(guard.canAbort).toBe(true);
    guard.abort(7);
    guard.launch(launch);
    guard.abort(7);
    guard.progress();
    guard.abort(7);
    expect(asked).toEqual([7]);
    expect(heard).toEqual([['launched', 7, 'ABORTED']]);
  });

  it.each([
    [
      'a copy that nobody asked for',
      (to: DriverGuard) => to.events.transferred(4, Status.Done),
      /answered copy 4/,
    ],
    [
      'a revocation that nobody asked for',
      (to: DriverGuard) => to.events.revoked(4),
      /answered revocation 4/,
    ],
    [
      'a launch that does not run',
      (to: DriverGuard) => to.events.launched(4, null),
      /ended launch 4/,
    ],
    [
      'an end that is none',
      (to: DriverGuard) => to.events.transferred(3, Status.Pending),
      /ended a copy with 1/,
    ],
    [
      'a fault without faults',
      (to: DriverGuard) => to.events.fault(1, true, 0),
      /reported a page fault/,
    ],
  ])('takes the device for dead after %s', (_name, say, message) => {
    copyIn(3);
    say(guard);
    guard.progress();
    expect(heard.at(-1)).toEqual(['died', expect.stringMatching(message)]);
  });

  it('keeps the memory of a device that says itself that it died', () => {
    copyIn(3);
    guard.events.transferred(3, Status.Lost);
    guard.events.died('pulled out');
    guard.progress();
    expect(heard).toEqual([
      ['transferred', 3, Status.Lost],
      ['died', 'pulled out'],
    ]);
    expect(guard.description.memorySurvives).toBe(true);
    expect(warnings).toEqual([]);
  });

  it('takes a device for dead that loses copies and says no more', () => {
    copyIn(3);
    guard.events.transferred(3, Status.Lost);
    guard.progress();
    expect(heard.at(-1)).toEqual(['died', 'it lost a copy']);
  });

  it('takes a device for dead that does not answer', () => {
    copyIn(3);
    for (let look = 0; look < 10; look++) guard.look();
    guard.progress();
    expect(heard).toEqual([]);
    guard.look();
    guard.progress();
    expect(heard).toEqual([
      ['transferred', 3, Status.Lost],
      ['died', 'its driver has not answered a copy for 10 s'],
    ]);
  });

  it('ends a device that cannot be ended, and launches of one that cannot launch', () => {
    guard.launch(launch);
    guard.progress();
    guard.lose('on purpose');
    guard.progress();
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
      'a granularity of which its memory has room for one unit only',
      { description: { ...description, granularityBytes: 32_768 } },
      /granularityBytes of 32768, and a budgetPages of 8: .* room for two units; .* at least 65536 bytes/,
    ],
    ['memory nowhere', { description: { ...description, addressable: true } }, /has memory 0/],
    ['a launch that is no function', { launch: 1 }, /launch that is no function/],
  ])('refuses a driver with %s', (_name, change, message) => {
    expect(() => guard.adopt({ ...driver, ...change })).toThrow(message);
  });
});
