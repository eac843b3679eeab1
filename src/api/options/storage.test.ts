import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { warningsOf } from '../../../test/harness/warnings.js';
import { storageOf } from './storage.js';

const { bavail, bsize } = statfsSync(tmpdir());

describe('a budget of storage', () => {
  it.skipIf(bavail * bsize >= 2 ** 41)(
    'that the disk has no room for is taken, with a warning that names the disk and what it has',
    async () => {
      const path = tmpdir();
      const [warning, ...more] = await warningsOf(() =>
        expect(storageOf({ path, bytes: '2TiB' })).toEqual({ path, bytes: 2 ** 41 }),
      );
      expect(more).toEqual([]);
      expect(warning.code).toBe('ONEMEM_STORAGE');
      expect(warning.message).toMatch(
        new RegExp(
          `^storage\\.bytes is ${2 ** 41}, and the disk of ${path} has \\d+ bytes left; .*OUT_OF_STORAGE$`,
        ),
      );
    },
  );

  it('that the disk has room for is taken without a word', async () => {
    const path = tmpdir();
    const warnings = await warningsOf(() =>
      expect(storageOf({ path, bytes: '2MiB' })).toEqual({ path, bytes: 2 ** 21 }),
    );
    expect(warnings).toEqual([]);
  });
});
