import { describe, expect, it } from 'vitest';
import { cgroupMemory, memoryGroups, memoryLeft, systemMemory } from './system-memory.js';

const reader =
  (files: Record<string, string>) =>
  (path: string): string | null =>
    files[path] ?? null;
const MOUNT_2 = '30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';

describe('systemMemory', () => {
  it('is in bytes', () => {
    const { total, available } = systemMemory();
    expect(total).toBeGreaterThan(2 ** 26);
    expect(available).toBeGreaterThan(0);
    expect(available).toBeLessThanOrEqual(total);
    expect(systemMemory('MemTotal:  16 kB\nMemFree: 1 kB\n')).toEqual({
      total: 16_384,
      available: 0,
    });
  });
});

describe('cgroupMemory', () => {
  it('reads this machine', () => {
    const { limit, usage } = cgroupMemory();
    expect(limit).toBeGreaterThan(2 ** 20);
    expect(usage).toBeGreaterThanOrEqual(0);
  });

  it('takes the smallest limit on the way up, with the usage there', () => {
    const files = {
      '/proc/self/cgroup': '0::/user.slice/a:b.service\n',
      '/proc/self/mountinfo': `${MOUNT_2}\n`,
      '/sys/fs/cgroup/user.slice/a:b.service/memory.max': 'max\n',
      '/sys/fs/cgroup/user.slice/a:b.service/memory.current': '100\n',
      '/sys/fs/cgroup/user.slice/memory.max': '1073741824\n',
      '/sys/fs/cgroup/user.slice/memory.current': '300\n',
    };
    expect(cgroupMemory(reader(files))).toEqual({
      limit: 2 ** 30,
      usage: 300,
      file: '/sys/fs/cgroup/user.slice/memory.max',
    });
  });

  it('reads a container with a namespace of its own', () => {
    const files = {
      '/proc/self/cgroup': '0::/\n',
      '/proc/self/mountinfo': `${MOUNT_2}\n`,
      '/sys/fs/cgroup/memory.max': '536870912\n',
      '/sys/fs/cgroup/memory.current': '5\n',
    };
    expect(cgroupMemory(reader(files))).toMatchObject({ limit: 2 ** 29, usage: 5 });
  });

  it('reads version 1 in a container whose mount starts at its own group', () => {
    const files = {
      '/proc/self/cgroup': '5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n',
      '/proc/self/mountinfo': [
        '40 30 0:30 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct',
        '41 30 0:31 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory',
      ].join('\n'),
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '268435456\n',
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': '77\n',
    };
    expect(cgroupMemory(reader(files))).toEqual({
      limit: 2 ** 28,
      usage: 77,
      file: '/sys/fs/cgroup/memory/memory.limit_in_bytes',
    });
  });

  it('knows the number by which version 1 says that there is no limit, and a machine without groups', () => {
    const files = {
      '/proc/self/cgroup': '4:memory:/\n',
      '/proc/self/mountinfo': '41 30 0:31 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': '77\n',
    };
    expect(cgroupMemory(reader(files))).toEqual({
      limit: Number.POSITIVE_INFINITY,
      usage: 77,
      file: null,
    });
    expect(cgroupMemory(reader({}))).toEqual({
      limit: Number.POSITIVE_INFINITY,
      usage: 0,
      file: null,
    });
  });
});

describe('memoryLeft', () => {
  const MEMINFO = 'MemTotal: 8000 kB\nMemAvailable: 6000 kB\n';
  const left = (files: Record<string, string>) => {
    const read = reader({ '/proc/meminfo': MEMINFO, ...files });
    return memoryLeft(memoryGroups(read), read);
  };

  it('is what the machine has where there is no group', () => {
    expect(left({})).toEqual({ limit: 8_192_000, available: 6_144_000 });
  });

  it('is what the tightest group around the process has, with what the kernel can drop there', () => {
    const files = {
      '/proc/self/cgroup': '0::/a/b\n',
      '/proc/self/mountinfo': MOUNT_2,
      '/sys/fs/cgroup/a/b/memory.max': '4000000',
      '/sys/fs/cgroup/a/b/memory.current': '1000',
      '/sys/fs/cgroup/a/memory.max': '5000000',
      '/sys/fs/cgroup/a/memory.current': '4000000',
      '/sys/fs/cgroup/a/memory.stat':
        'file 5000\ninactive_file 2000\nactive_file 300\nworkingset_inactive_file 9\n',
    };
    expect(left(files)).toEqual({ limit: 4_000_000, available: 1_002_300 });
  });

  it('counts memory.high, beyond which processes are slowed down, as a limit', () => {
    const files = {
      '/proc/self/cgroup': '0::/\n',
      '/proc/self/mountinfo': MOUNT_2,
      '/sys/fs/cgroup/memory.max': 'max',
      '/sys/fs/cgroup/memory.high': '3000000',
      '/sys/fs/cgroup/memory.current': '3100000',
    };
    expect(left(files)).toEqual({ limit: 3_000_000, available: 0 });
  });

  it('takes the sums of all groups within from version 1', () => {
    const files = {
      '/proc/self/cgroup': '4:memory:/x\n',
      '/proc/self/mountinfo': '41 30 0:31 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory',
      '/sys/fs/cgroup/memory/x/memory.limit_in_bytes': '4000000',
      '/sys/fs/cgroup/memory/x/memory.usage_in_bytes': '3000000',
      '/sys/fs/cgroup/memory/x/memory.stat':
        'inactive_file 1\nactive_file 1\ntotal_inactive_file 500\ntotal_active_file 50\n',
    };
    expect(left(files)).toEqual({ limit: 4_000_000, available: 1_000_550 });
  });
});
