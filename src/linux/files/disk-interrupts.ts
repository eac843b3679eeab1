/**
 * Which CPU a disk interrupts when it has read or written, where that is one CPU for all requests:
 * what waits for a page is told soonest there.
 */
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The CPU that a folder's disk interrupts. Null: several, or it cannot be told. */
export function interruptedCpu(folder: string, root = '/'): number | null {
  try {
    const disk = diskOf(statSync(folder).dev, root);
    if (readdirSync(join(disk, 'mq')).length !== 1) return null;
    const counts = countsOf(readFileSync(join(root, 'proc/interrupts'), 'latin1'));
    // A virtual disk has one for its settings, too, which hardly ever comes.
    const numbers = numbersOf(realpathSync(join(disk, 'device')), root);
    const [most] = numbers.sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
    const cpus = readFileSync(
      join(root, `proc/irq/${most}/effective_affinity_list`),
      'latin1',
    ).trim();
    return /^\d+$/.test(cpus) ? Number(cpus) : null;
  } catch {
    // Not on this machine, not of this file system, or not for a process in this container.
    return null;
  }
}

/** The folder of sysfs for the disk of a device number; a partition's is in that of its disk. */
function diskOf(device: number, root: string): string {
  const [major, minor] = [
    Math.floor(device / 256) & 0xfff,
    (device & 0xff) | (Math.floor(device / 2 ** 12) & 0xfff00),
  ];
  const folder = realpathSync(join(root, `sys/dev/block/${major}:${minor}`));
  return readdirSync(folder).includes('partition') ? dirname(folder) : folder;
}

/** Interrupts of the nearest device above that has any: the disk, or its PCI device. */
function numbersOf(device: string, root: string): number[] {
  const end = realpathSync(join(root, 'sys'));
  for (let folder = device; folder.startsWith(end) && folder !== end; folder = dirname(folder)) {
    if (readdirSync(folder).includes('msi_irqs'))
      return readdirSync(join(folder, 'msi_irqs')).map(Number);
  }
  return [];
}

/** How often each interrupt came, on all CPUs together. */
function countsOf(table: string): Map<number, number> {
  const counts = new Map<number, number>();
  const [head, ...lines] = table.split('\n');
  const cpus = head.trim().split(/\s+/).length;
  for (const line of lines) {
    const [name, ...columns] = line.trim().split(/\s+/);
    if (!/^\d+:$/.test(name)) continue;
    counts.set(
      Number.parseInt(name, 10),
      columns.slice(0, cpus).reduce((sum, column) => sum + Number(column), 0),
    );
  }
  return counts;
}
