/** A space's spill file, made on first use by its threads; a ring takes small moves. */
import { constants as os } from 'node:os';
import { closeDescriptor } from '../../linux/base/libc.js';
import type { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { IoEngines, type StoreFile } from './io-engines.js';
import { IoEngine, Job, type Resort } from './io-ring.js';
import { PageSums } from './page-sums.js';
import { type PageMove, StorageRing } from './storage-ring.js';

/** Two threads write and two read: a disk stays busy while one checks sums. */
const THREADS = 2;
/** Jobs of a thread at once: one that it does, and the next. */
const DEPTH = 2;

type WithFile = (fd: number) => void;

export class Spill implements StoreFile {
  readonly engines: IoEngines;
  private readonly ring: StorageRing;
  /** What the file is opened with when the process has no descriptors left. */
  private readonly reserve: DescriptorReserve | undefined;
  /** -1: not made yet. */
  private fd = -1;
  private readonly sums: PageSums;
  /** What waits for the file to be made. */
  private readonly waiting: { go: WithFile; done: (result: number) => void }[] = [];

  constructor(
    readonly folder: string,
    bytes: number,
    wakeFd: number,
    control: SharedArrayBuffer,
    now: () => number,
    resort: Resort,
  ) {
    this.sums = new PageSums(bytes);
    const engine = (): IoEngine =>
      new IoEngine(wakeFd, control, now, undefined, folder, { other: resort.other });
    const engines = (): IoEngine[] => Array.from({ length: THREADS }, engine);
    this.reserve = resort.reserve;
    this.ring = new StorageRing(wakeFd, (move) => this.byThread(move));
    this.engines = new IoEngines(engines(), engines(), this.ring);
  }

  mayRead(urgent: boolean, bytes: number): boolean {
    if (this.ring.mayTake(bytes)) return true;
    // A thread that has read goes on with the next job before the manager has heard of it, or the
    // disk would rest meanwhile. What a thread of the program waits for has a place besides.
    return this.engines.reader.load < (urgent ? DEPTH + 1 : DEPTH);
  }

  mayWrite(bytes: number): boolean {
    return (
      this.waiting.length === 0 && (this.ring.mayTake(bytes) || this.engines.writer.load < DEPTH)
    );
  }

  write(address: number, length: number, offset: number, done: (result: number) => void): void {
    const sums = this.sums.at(offset);
    const kind = Job.WriteSummed;
    this.withFile(done, (fd) => this.begin({ kind, fd, address, length, offset, sums, done }));
  }

  read(address: number, length: number, offset: number, done: (result: number) => void): void {
    const { fd } = this;
    const sums = this.sums.at(offset);
    this.begin({ kind: Job.ReadSummed, fd, address, length, offset, sums, done });
  }

  punch(offset: number, length: number, done: (result: number) => void): void {
    const { fd } = this;
    this.engines.writer.begin({ kind: Job.Punch, fd, address: 0, length, offset, done });
  }

  /** Nothing of it is under way any more. */
  close(): void {
    this.engines.close();
    if (this.fd !== -1) closeDescriptor(this.fd);
    this.sums.close();
    this.fd = -1;
  }

  private begin(move: PageMove): void {
    if (this.ring.mayTake(move.length)) this.ring.begin(move);
    else this.byThread(move);
  }

  private byThread(move: PageMove): void {
    const { reader, writer } = this.engines;
    (move.kind === Job.WriteSummed ? writer : reader).begin(move);
  }

  private withFile(done: (result: number) => void, go: WithFile): void {
    if (this.fd !== -1) {
      go(this.fd);
      return;
    }
    this.waiting.push({ go, done });
    if (this.waiting.length > 1) return;
    this.open((result) => {
      if (result >= 0) this.fd = result;
      for (const { go: each, done: refuse } of this.waiting.splice(0)) {
        if (result >= 0) each(result);
        else refuse(result === -1 ? -os.errno.EIO : result);
      }
    });
  }

  /** Makes the file. `made` gets its descriptor, or the negative error number. */
  private open(made: (result: number) => void): void {
    const { reserve } = this;
    const open = (done: (result: number) => void): void =>
      this.engines.writer.begin({ kind: Job.Open, fd: -1, address: 0, length: 0, offset: 0, done });
    open((result) => {
      if (reserve === undefined || (result !== -os.errno.EMFILE && result !== -os.errno.ENFILE)) {
        made(result);
        return;
      }
      reserve.lend();
      open((again) => {
        reserve.back();
        made(again);
      });
    });
  }
}
