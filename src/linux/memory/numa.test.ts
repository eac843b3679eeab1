import { expect, test, vi } from 'vitest';
import { MAP_ANONYMOUS, MAP_SHARED, PROT_READ, PROT_WRITE } from '../base/constants.js';
import { libc, SYSTEM_CALL } from '../base/libc.js';
import { scratch } from '../base/native-buffer.js';
import { mmap, munmap } from './memory.js';
import { nodeOfDevice, numaNodes, placeMemory } from './numa.js';

const FILES: Record<string, string> = {
  '/sys/devices/system/node/online': '0,2\n',
  '/sys/devices/system/node/node0/cpulist': '0-1,4\n',
  '/sys/devices/system/node/node0/meminfo':
    'Node 0 MemTotal:       2000 kB\nNode 0 MemFree:        500 kB\n',
  '/sys/devices/system/node/node0/distance': '10 21\n',
  '/sys/devices/system/node/node2/cpulist': '\n',
  '/sys/devices/system/node/node2/meminfo':
    'Node 2 MemTotal:      64000 kB\nNode 2 MemFree:      63000 kB\n',
  '/sys/devices/system/node/node2/distance': '21 10\n',
};

test('nodes have CPUs, memory and distances; one of memory alone has no CPUs', () => {
  expect(numaNodes((path) => FILES[path] ?? null)).toEqual([
    { node: 0, cpus: [0, 1, 4], bytes: 2_048_000, freeBytes: 512_000, distances: [10, 21] },
    { node: 2, cpus: [], bytes: 65_536_000, freeBytes: 64_512_000, distances: [21, 10] },
  ]);
});

test('a machine that does not tell is one node', () => {
  const read = (path: string): string | null =>
    path === '/proc/meminfo'
      ? 'MemTotal:  100 kB\nMemAvailable:  40 kB\n'
      : path === '/sys/devices/system/cpu/online'
        ? '0-3\n'
        : null;
  expect(numaNodes(read)).toEqual([
    { node: 0, cpus: [0, 1, 2, 3], bytes: 102_400, freeBytes: 40_960, distances: [10] },
  ]);
});

test('a device is beside the CPUs of its process, or where the GPUs are', () => {
  const files: Record<string, string> = {
    ...FILES,
    '/sys/devices/system/node/node2/cpulist': '2-3\n',
    '/proc/7/status': 'Name:\tnode\nCpus_allowed_list:\t2-3\n',
    '/proc/8/status': 'Name:\tnode\nCpus_allowed_list:\t0-3\n',
    '/sys/class/drm/card0/device/numa_node': '2\n',
    '/sys/class/drm/card1/device/numa_node': '0\n',
    '/sys/class/drm/card2/device/numa_node': '-1\n',
  };
  const nodeOf = (pid: number | null, ...cards: string[]): number | null =>
    nodeOfDevice(
      pid,
      (path) => files[path] ?? null,
      () => cards,
    );
  expect([nodeOf(7), nodeOf(8), nodeOf(9)]).toEqual([2, null, null]);
  expect([nodeOf(null, 'card0'), nodeOf(null, 'card0', 'card1')]).toEqual([2, null]);
  expect([nodeOf(null), nodeOf(null, 'card2')]).toEqual([null, null]);
});

test('the kernel takes a node that is there, and no other one', () => {
  const [{ node }] = numaNodes();
  const bytes = 65_536;
  const address = mmap(bytes, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_ANONYMOUS,
  });
  const placed = placeMemory(address, bytes, { node, only: true });
  // EPERM, ENOSYS: a container does not allow the call.
  expect([0, 1, 38]).toContain(placed);
  if (placed === 0) {
    expect(placeMemory(address, bytes, { node: 1000, only: true })).toBe(22);
    expect(placeMemory(address, bytes, null)).toBe(0);
  }
  munmap(address, bytes);
});

test('the kernel is asked to prefer a node, or to take no other one', () => {
  const calls: unknown[] = [];
  const spy = vi.spyOn(libc, 'systemCall').mockImplementation((call, ...args) => {
    const [address, bytes, mode, mask, bits] = args.map(Number);
    calls.push([call, address, bytes, mode, mask === 0 ? null : scratch.view.getUint8(1), bits]);
    return 0;
  });
  placeMemory(4096, 8192, { node: 9, only: false });
  placeMemory(4096, 8192, { node: 9, only: true });
  placeMemory(4096, 8192, null);
  spy.mockRestore();
  // From linux/mempolicy.h: MPOL_PREFERRED is 1, MPOL_BIND 2, MPOL_DEFAULT 0.
  expect(calls).toEqual([
    [SYSTEM_CALL.mbind, 4096, 8192, 1, 0b10, 1025],
    [SYSTEM_CALL.mbind, 4096, 8192, 2, 0b10, 1025],
    [SYSTEM_CALL.mbind, 4096, 8192, 0, null, 0],
  ]);
});
