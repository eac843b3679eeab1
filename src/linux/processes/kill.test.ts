import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { endChild, sendSignal } from './kill.js';

const SOURCES = new URL('../../', import.meta.url).pathname;
/** Whatever sends a signal by a number. What is sent to a child goes by its number, too. */
const SENDS = /(?<!this\.)process\.kill\(|\.kill\('SIG|libc\.kill|'int kill\(/;

describe('signals', () => {
  it('go to one process', () => {
    expect(() => sendSignal(process.pid, 0)).not.toThrow();
    expect(() => sendSignal(2 ** 22 + 1, 0)).toThrowError(/ESRCH/);
  });

  it('never go to a group of processes', () => {
    const kill = vi.spyOn(process, 'kill');
    for (const pid of [0, -1, -process.pid, Number.NaN, 1.5, undefined as unknown as number]) {
      expect(() => sendSignal(pid, 'SIGKILL'), String(pid)).toThrowError(RangeError);
    }
    expect(kill).not.toHaveBeenCalled();
    kill.mockRestore();
  });

  it('do not go to a child that could not be started', async () => {
    const child = spawn('/nowhere/node', []);
    const failed = once(child, 'error');
    const kill = vi.spyOn(child, 'kill').mockReturnValue(true);
    endChild(child);
    expect(kill).not.toHaveBeenCalled();
    await failed;
  });

  it('are sent from here alone', () => {
    const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });
    const senders = files.filter(
      (file) =>
        // The suite looks whether processes have ended, and stands on the package as its users do.
        /\.ts$/.test(file) &&
        !/\.test\.ts$|^testing\//.test(file) &&
        SENDS.test(readFileSync(join(SOURCES, file), 'utf8')),
    );
    expect(senders).toEqual(['linux/processes/kill.ts']);
  });
});
