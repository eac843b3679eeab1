import { closeSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readText } from '../base/text-files.js';
import { Poller } from '../sockets/poll.js';
import { openTrigger, PRESSURE_EVENTS, pressureFile, stalledMs } from './pressure.js';

const SOME =
  'some avg10=0.00 avg60=0.02 avg300=1.50 total=18901823\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=2183439\n';

describe('pressure', () => {
  it('is the time that some thread has stood still, in milliseconds', () => {
    expect(stalledMs(SOME)).toBe(18_901.823);
    expect(stalledMs('')).toBe(0);
  });

  it('is that of the own group of version 2, else of the machine, else nothing', () => {
    const groups = [
      { folder: '/cg/a', version: 2 },
      { folder: '/cg', version: 2 },
    ] as const;
    const of = (files: Record<string, string>) =>
      pressureFile(groups, (path) => files[path] ?? null);
    expect(of({ '/cg/a/memory.pressure': SOME, '/proc/pressure/memory': SOME })).toBe(
      '/cg/a/memory.pressure',
    );
    expect(of({ '/cg/memory.pressure': SOME, '/proc/pressure/memory': SOME })).toBe(
      '/proc/pressure/memory',
    );
    expect(of({})).toBe(null);
  });

  it('raises a descriptor that can be waited for where the kernel lets it', () => {
    expect(openTrigger('/no/such/file')).toBe(null);
    const file = pressureFile([], readText);
    const fd = file === null ? null : openTrigger(file);
    if (fd === null) return;
    const poller = new Poller(1);
    poller.set(0, fd, PRESSURE_EVENTS);
    poller.wait(0);
    expect(poller.readyAt(0) & ~PRESSURE_EVENTS).toBe(0);
    closeSync(fd);
  });
});
