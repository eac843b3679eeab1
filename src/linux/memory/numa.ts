/** Nodes of memory of this machine, and on which of them pages come to lie. */
import { readdirSync } from 'node:fs';
import { errno, libc, SYSTEM_CALL } from '../base/libc.js';
import { scratch } from '../base/native-buffer.js';
import { type ReadText, readText } from '../base/text-files.js';
import { systemMemory } from './system-memory.js';

/** A node: CPUs with memory beside them. */
export interface NumaNode {
  readonly node: number;
  readonly cpus: readonly number[];
  readonly bytes: number;
  readonly freeBytes: number;
  /** To each node of the list, in its order, as the firmware says: 10 is the node itself. */
  readonly distances: readonly number[];
}

/** Where pages of an array are to lie. */
export interface NumaPlace {
  readonly node: number;
  /** On that node alone; without it, elsewhere if there is no room. */
  readonly only: boolean;
}

const FOLDER = '/sys/devices/system/node';
const DISPLAYS = '/sys/class/drm';
/** From linux/mempolicy.h. */
const MPOL_DEFAULT = 0;
const MPOL_PREFERRED = 1;
const MPOL_BIND = 2;
/** Nodes that a mask has room for; the kernel knows 1024 at most. */
export const MASK_NODES = 1024;

/** '0-2,5' as 0, 1, 2, 5. */
function listOf(text: string): number[] {
  const list: number[] = [];
  for (const part of text.trim().split(',')) {
    if (part === '') continue;
    const [first, last = first] = part.split('-').map(Number);
    for (let each = first; each <= last; each++) list.push(each);
  }
  return list;
}

/** All nodes that are online. A machine that does not tell is one node. */
export function numaNodes(read: ReadText = readText): NumaNode[] {
  const online = listOf(read(`${FOLDER}/online`) ?? '');
  if (online.length === 0) {
    const { total, available } = systemMemory(read('/proc/meminfo') ?? '');
    const cpus = listOf(read('/sys/devices/system/cpu/online') ?? '0');
    return [{ node: 0, cpus, bytes: total, freeBytes: available, distances: [10] }];
  }
  return online.map((node) => {
    const folder = `${FOLDER}/node${node}`;
    const memory = read(`${folder}/meminfo`) ?? '';
    const bytes = (name: string): number =>
      1024 * Number(new RegExp(` ${name}:\\s*(\\d+) kB`).exec(memory)?.[1] ?? 0);
    const distances = (read(`${folder}/distance`) ?? '10').trim().split(/\s+/).map(Number);
    return {
      node,
      cpus: listOf(read(`${folder}/cpulist`) ?? ''),
      bytes: bytes('MemTotal'),
      freeBytes: bytes('MemFree'),
      distances,
    };
  });
}

/**
 * The node beside which a device is: that of the CPUs on which its process may run, or that of the
 * GPUs of this machine. Null: there are several, or the machine does not tell.
 * @param pid the process of the device; null: it has none
 */
export function nodeOfDevice(
  pid: number | null,
  read: ReadText = readText,
  displays: () => readonly string[] = namesOfDisplays,
): number | null {
  const nodes = numaNodes(read);
  if (nodes.length === 1) return nodes[0].node;
  if (pid === null)
    return theOnly(
      displays().map((name) => Number(read(`${DISPLAYS}/${name}/device/numa_node`) ?? -1)),
    );
  const status = read(`/proc/${pid}/status`) ?? '';
  const allowed = new Set(listOf(/^Cpus_allowed_list:\t(.*)$/m.exec(status)?.[1] ?? ''));
  return theOnly(
    nodes.filter(({ cpus }) => cpus.some((cpu) => allowed.has(cpu))).map(({ node }) => node),
  );
}

/** The number that all are; null where they differ, where there is none, or where it is negative. */
function theOnly(numbers: readonly number[]): number | null {
  const [first = -1, ...others] = numbers;
  return first >= 0 && others.every((each) => each === first) ? first : null;
}

function namesOfDisplays(): readonly string[] {
  try {
    return readdirSync(DISPLAYS).filter((name) => /^card\d+$/.test(name));
  } catch {
    return [];
  }
}

/**
 * Says where pages of a mapping come to lie from now on; null: wherever there is room. In a memory
 * file that holds for all of its mappings. Returns 0 or the error number: containers often forbid
 * it.
 */
export function placeMemory(address: number, bytes: number, place: NumaPlace | null): number {
  scratch.bytes.fill(0, 0, MASK_NODES / 8);
  let mode = MPOL_DEFAULT;
  if (place !== null) {
    mode = place.only ? MPOL_BIND : MPOL_PREFERRED;
    scratch.view.setUint8(place.node >> 3, 1 << (place.node & 7));
  }
  const mask = place === null ? 0 : scratch.address;
  // The kernel takes one bit less than it is told.
  const bits = place === null ? 0 : MASK_NODES + 1;
  return libc.systemCall(SYSTEM_CALL.mbind, address, bytes, mode, mask, bits, 0) < 0 ? errno() : 0;
}
