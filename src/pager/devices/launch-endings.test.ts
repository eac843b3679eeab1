import { expect, it } from 'vitest';
import type { Device } from './device.js';
import { type Launch, LaunchQueue } from './launch.js';
import { LaunchEndings } from './launch-endings.js';

/** A launch that is being ended, on a device whose process is queued for so many milliseconds. */
function endingLaunch(queuedMs: number[]) {
  const ends: string[] = [];
  const device = {
    info: { cancellation: true },
    driver: {},
    process: { pid: 1, owesAnswers: false },
    end: (reason: string) => void ends.push(reason),
  } as unknown as Device;
  const launch = { device, ending: null, isHandedOver: true, sharedUse: null } as unknown as Launch;
  launch.timeoutAt = Number.POSITIVE_INFINITY;
  const queue = new LaunchQueue(device);
  queue.launches.push(launch);
  const nothing = null as never;
  const queued = { takeMs: () => queuedMs.shift() ?? 0 };
  const endings = new LaunchEndings(
    new Map([[device, queue]]),
    nothing,
    nothing,
    () => 0,
    () => undefined,
    () => queued,
  );
  endings.stop(launch, { code: 'ABORTED', reason: 'it is not wanted' });
  return { endings, ends };
}

it('ends a device that does not end its launch', () => {
  const { endings, ends } = endingLaunch([0]);
  endings.look(4999);
  expect(ends).toEqual([]);
  endings.look(5000);
  expect(ends).toEqual(['it did not end a launch within 5 s']);
});

it('gives a device the time for which its process had no processor', () => {
  const { endings, ends } = endingLaunch([4000, 3000, 100]);
  for (const now of [5000, 8999, 9000, 11_999]) endings.look(now);
  expect(ends).toEqual([]);
  endings.look(12_000);
  expect(ends).toEqual(['it did not end a launch within 5 s']);
});
