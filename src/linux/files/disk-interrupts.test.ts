import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { interruptedCpu } from './disk-interrupts.js';

const PCI = 'sys/devices/pci0000:00/0000:00:02.0';
const DISK = `${PCI}/virtio1/block/vda`;

describe('the CPU that a disk interrupts', () => {
  let root: string;

  function write(path: string, text = ''): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }

  /**
   * A machine of two CPUs whose disk has so many queues; the folder that is asked for lies on the
   * whole disk, or on a partition of it.
   */
  function machine(queues: number, partition: boolean): void {
    const { dev } = statSync(root);
    const number = `${Math.floor(dev / 256) & 0xfff}:${(dev & 0xff) | (Math.floor(dev / 2 ** 12) & 0xfff00)}`;
    for (let queue = 0; queue < queues; queue++) write(`${DISK}/mq/${queue}/cpu_list`);
    for (const each of [35, 36]) write(`${PCI}/msi_irqs/${each}`, 'msix');
    symlinkSync('../..', join(root, DISK, 'device'));
    if (partition) write(`${DISK}/vda1/partition`, '1');
    mkdirSync(join(root, 'sys/dev/block'), { recursive: true });
    symlinkSync(
      join(root, partition ? `${DISK}/vda1` : DISK),
      join(root, `sys/dev/block/${number}`),
    );
    const rows = [
      'CPU0 CPU1',
      '35: 0 1 PCI virtio1-config',
      '36: 40 2 PCI virtio1-req.0',
      '37: 900 9 PCI other',
      'NMI: 1 1 x',
    ];
    write('proc/interrupts', rows.join('\n'));
    write('proc/irq/36/effective_affinity_list', '1\n');
  }

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'onemem-interrupts-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('is that of the interrupt that comes for its requests', () => {
    machine(1, false);
    expect(interruptedCpu(root, root)).toBe(1);
  });

  it('is the same for its partitions', () => {
    machine(1, true);
    expect(interruptedCpu(root, root)).toBe(1);
  });

  it('is none where each CPU has a queue of its own', () => {
    machine(2, false);
    expect(interruptedCpu(root, root)).toBeNull();
  });

  it('is none where the interrupt goes to several', () => {
    machine(1, false);
    write('proc/irq/36/effective_affinity_list', '0-1\n');
    expect(interruptedCpu(root, root)).toBeNull();
  });

  it('cannot be told of a file system without a disk', () => {
    expect(interruptedCpu('/proc')).toBeNull();
    expect(interruptedCpu('/nowhere')).toBeNull();
  });
});
