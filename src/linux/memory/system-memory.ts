/** Memory of the machine and of the control groups (version 2 or 1) of this process. */
import { type ReadText, readText } from '../base/text-files.js';

/** From /proc/meminfo, in bytes. */
export function systemMemory(text: string = readText('/proc/meminfo') ?? ''): {
  total: number;
  available: number;
} {
  const field = (name: string): number => {
    const match = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text);
    return match === null ? 0 : Number(match[1]) * 1024;
  };
  return { total: field('MemTotal'), available: field('MemAvailable') };
}

/** A control group around this process that counts memory. */
export interface MemoryGroup {
  readonly folder: string;
  readonly version: 1 | 2;
}

/** The process's own group first, then those around it. */
export function memoryGroups(read: ReadText = readText): MemoryGroup[] {
  const groups = (read('/proc/self/cgroup') ?? '').split('\n').map((line) => line.split(':'));
  const found: MemoryGroup[] = [];
  for (const line of (read('/proc/self/mountinfo') ?? '').split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root = '', mountPoint = ''] = before.split(' ');
    const [type = '', , superOptions = ''] = after.split(' ');
    const two = type === 'cgroup2';
    if (!two && !(type === 'cgroup' && superOptions.split(',').includes('memory'))) continue;
    const group = groups.find(([, controllers = '']) =>
      two ? controllers === '' : controllers.split(',').includes('memory'),
    );
    if (group === undefined) continue;
    const path = group.slice(2).join(':');
    // The mount shows the hierarchy from its root on: in a container without a namespace of its
    // own, that is the container's.
    const prefix = root === '/' ? '' : root;
    let relative =
      path === prefix || path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : '';
    if (relative === '/') relative = '';
    for (;;) {
      found.push({ folder: `${mountPoint}${relative}`, version: two ? 2 : 1 });
      if (relative === '') break;
      relative = relative.slice(0, relative.lastIndexOf('/'));
    }
  }
  return found;
}

interface GroupLimit {
  readonly bytes: number;
  readonly file: string;
}

/**
 * The least of a group's limits: beyond `memory.high` its processes are slowed down, beyond the
 * others one is ended. Null: the group has no such file.
 */
function limitOf({ folder, version }: MemoryGroup, read: ReadText): GroupLimit | null {
  let least: GroupLimit | null = null;
  for (const name of version === 2 ? ['memory.max', 'memory.high'] : ['memory.limit_in_bytes']) {
    const file = `${folder}/${name}`;
    const text = read(file)?.trim();
    if (text === undefined) continue;
    // Version 1 writes "no limit" as the largest multiple of the page size.
    const bytes =
      text === 'max' || Number(text) >= 2 ** 62 ? Number.POSITIVE_INFINITY : Number(text);
    if (least === null || bytes < least.bytes) least = { bytes, file };
  }
  return least;
}

function usageOf({ folder, version }: MemoryGroup, read: ReadText): number {
  return Number(
    read(`${folder}/${version === 2 ? 'memory.current' : 'memory.usage_in_bytes'}`)?.trim() ?? 0,
  );
}

/** What the kernel can drop of the group's files; memory files are no part of it. */
function cacheOf({ folder, version }: MemoryGroup, read: ReadText): number {
  const text = read(`${folder}/memory.stat`) ?? '';
  const field = (name: string): number => {
    const match = new RegExp(`^${version === 2 ? '' : 'total_'}${name} (\\d+)$`, 'm').exec(text);
    return match === null ? 0 : Number(match[1]);
  };
  return field('inactive_file') + field('active_file');
}

export interface CgroupMemory {
  /** The smallest limit of this process's control groups; Infinity without any. */
  readonly limit: number;
  /** What the group with that limit uses now; without a limit, the process's own group. */
  readonly usage: number;
  /** The file that holds the limit, or null. */
  readonly file: string | null;
}

/** The memory limit of the container or service that this process runs in. */
export function cgroupMemory(read: ReadText = readText): CgroupMemory {
  let result: CgroupMemory | null = null;
  for (const group of memoryGroups(read)) {
    const limit = limitOf(group, read);
    if (limit === null || (result !== null && limit.bytes >= result.limit)) continue;
    const file = limit.bytes === Number.POSITIVE_INFINITY ? null : limit.file;
    result = { limit: limit.bytes, usage: usageOf(group, read), file };
  }
  return result ?? { limit: Number.POSITIVE_INFINITY, usage: 0, file: null };
}

export interface MemoryLeft {
  /** The least that the machine, and the groups around the process, may have in all. */
  readonly limit: number;
  /** What can be taken before one of them is full; droppable memory counts as left. */
  readonly available: number;
}

/** @param groups those around this process */
export function memoryLeft(groups: readonly MemoryGroup[], read: ReadText = readText): MemoryLeft {
  const machine = systemMemory(read('/proc/meminfo') ?? '');
  let { total: limit, available } = machine;
  for (const group of groups) {
    const { bytes } = limitOf(group, read) ?? { bytes: Number.POSITIVE_INFINITY };
    if (bytes === Number.POSITIVE_INFINITY) continue;
    limit = Math.min(limit, bytes);
    const used = usageOf(group, read);
    // To ask what can be dropped takes longer than all else.
    if (bytes - used < available)
      available = Math.min(available, bytes - used + cacheOf(group, read));
  }
  return { limit, available: Math.max(available, 0) };
}
