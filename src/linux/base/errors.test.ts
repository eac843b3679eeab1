import { describe, expect, it } from 'vitest';
import { systemCallNumbers } from './constants.js';
import { check, errnoName, SystemCallError } from './errors.js';
import { libc } from './libc.js';

describe('SystemCallError', () => {
  it('shows addresses in hexadecimal and the rest as it is', () => {
    const error = new SystemCallError(
      'mmap',
      { address: 0x6000_0000_0000, length: 4096, name: 'x', fd: -1 },
      12,
    );
    expect(error.message).toBe(
      'mmap(address=0x600000000000, length=4096, name="x", fd=-1) failed: ENOMEM (not enough memory)',
    );
    expect(error).toMatchObject({
      name: 'SystemCallError',
      code: 'ENOMEM',
      errno: 12,
      call: 'mmap',
    });
  });

  it('has a name for numbers that Node does not know', () => {
    expect(errnoName(12)).toBe('ENOMEM');
    expect(errnoName(4000)).toBe('E4000');
  });
});

describe('check', () => {
  it('passes results on and turns a failure into an error with the reason of the kernel', () => {
    expect(check(3, 'open', {})).toBe(3);
    expect(() => check(libc.close(-1), 'close', { fd: -1 })).toThrowError(
      /^close\(fd=-1\) failed: EBADF/,
    );
  });
});

describe('system call numbers', () => {
  it('exist for the two processors and are refused elsewhere with a clear message', () => {
    expect(systemCallNumbers('linux', 'x64').userfaultfd).toBe(323);
    expect(systemCallNumbers('linux', 'arm64').userfaultfd).toBe(282);
    for (const [platform, arch] of [
      ['darwin', 'arm64'],
      ['linux', 'ia32'],
    ]) {
      expect(() => systemCallNumbers(platform, arch)).toThrowError(
        expect.objectContaining({
          code: 'UNSUPPORTED_PLATFORM',
          message: expect.stringContaining(`${platform} on ${arch}`),
        }),
      );
    }
  });
});
