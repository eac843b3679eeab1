import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idleFeature } from './idle-cpus.js';

describe('idle CPUs', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'onemem-idle-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  function machine(governor: string, ns: string): void {
    for (const [path, text] of [
      ['sys/devices/system/cpu/cpuidle/current_governor', governor],
      ['sys/module/haltpoll/parameters/guest_halt_poll_ns', ns],
    ]) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), `${text}\n`);
    }
  }

  it('that halt at once are told with what to do', () => {
    machine('haltpoll', '0');
    expect(idleFeature(root)).toMatchObject({ available: false, required: false });
    expect(idleFeature(root)?.remedy).toMatch(
      /^as root: echo 200000 > .*guest_halt_poll_ns .*bindThread/,
    );
  });

  it('that look around first are fine', () => {
    machine('haltpoll', '200000');
    expect(idleFeature(root)).toMatchObject({
      available: true,
      remedy: null,
      detail: expect.stringContaining('200 us'),
    });
  });

  it('of other machines are nothing to speak of', () => {
    machine('menu', '0');
    expect(idleFeature(root)).toBeNull();
    rmSync(join(root, 'sys'), { recursive: true });
    expect(idleFeature(root)).toBeNull();
  });
});
