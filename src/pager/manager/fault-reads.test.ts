import { describe, expect, it } from 'vitest';
import { FaultReads } from './fault-reads.js';

/**
 * Descriptors by what each read of them finds: the host's, then those of devices. Notes which were
 * read.
 */
function sources(...waiting: number[][]) {
  const reads: number[] = [];
  const readAt = (place: number): number => {
    reads.push(place);
    return waiting[place + 1]?.shift() ?? 0;
  };
  const polls = { processes: waiting.length - 1, length: waiting.length - 1, readFaults: readAt };
  const host = { readFaults: () => readAt(-1) };
  const faultReads = new FaultReads({ host, polls, attachments: { readFaults: () => 0 } });
  return { faultReads, reads };
}

describe('which descriptors are read for faults', () => {
  it('reads the host alone where no device has one', () => {
    const { faultReads, reads } = sources([0, 2]);
    expect([faultReads.read(), faultReads.read()]).toEqual([0, 2]);
    expect(reads).toEqual([-1, -1]);
  });

  it('says that there is nothing only when none has anything', () => {
    const { faultReads, reads } = sources([], [1], []);
    expect([faultReads.read(), faultReads.read()]).toEqual([1, 0]);
    expect(reads).toEqual([-1, 0, 1, 0, -1, 1]);
  });

  it('leaves the others alone while the one that had a fault last has another', () => {
    const { faultReads, reads } = sources([], [1, 1, 1]);
    faultReads.read();
    reads.length = 0;
    expect([faultReads.read(), faultReads.read()]).toEqual([1, 1]);
    expect(reads).toEqual([0, 0]);
  });

  it('lets none wait for more than a few of another one', () => {
    const { faultReads, reads } = sources(Array<number>(100).fill(1), [1]);
    for (let read = 0; read < 8; read++) faultReads.read();
    expect(reads).toEqual([...Array<number>(8).fill(-1), 0]);
  });
});
