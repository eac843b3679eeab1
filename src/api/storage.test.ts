import { once } from 'node:events';
import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { storageOf } from './storage.js';

const { bavail, bsize } = statfsSync(tmpdir());

describe('a budget of storage', () => {
  it.skipIf(bavail * bsize >= 2 ** 41)(
    'that the disk has no room for is taken, with a warning that names the disk and what it has',
    async () => {
      const path = tmpdir();
      const warned = once(process, 'warning');
      expect(storageOf({ path, bytes: '2TiB' })).toEqual({ path, bytes: 2 ** 41 });
      const [{ code, message }] = (await warned) as [Error & { code: string }];
      expect(code).toBe('ONEMEM_STORAGE');
      expect(message).toMatch(
        new RegExp(`^storage\\.bytes is ${2 ** 41}, and the disk of ${path} has \\d+ bytes left; .*OUT_OF_STORAGE$`),
      );
    },
  );

  it('that the disk has room for is taken without a word', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    expect(storageOf({ path: tmpdir(), bytes: '2MiB' })).toEqual({ path: tmpdir(), bytes: 2 ** 21 });
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });
});
