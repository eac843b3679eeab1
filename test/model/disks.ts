/**
 * Disks that fail for a while: reads or writes that end by EIO, or no room. Storage and the files
 * of arrays lie on such a disk, and host memory has room for a part of the arrays only, so that
 * their pages go there and come back.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import type { AddressSpace, SpaceOptions } from '../../src/index.js';
import { type FailingSpace, type Healer, openFailing, startHealer } from '../harness/failing.js';
import type { Random } from '../simulation/random.js';
import type { Player } from './player.js';

const MIB = 2 ** 20;
/** Shorter than a read is tried again, and a thread waits for room. */
const MOST_MS = 400;
/** Nothing else uses it: to touch it pushes pages of other arrays out. */
const CROWD_BYTES = 32 * MIB;
const HOST_MIB = 32;
/** With so much more some page has no room in host memory. */
const MORE_BYTES = MIB;
/** Threads read and write, whose calls can fail one by one. */
const NO_RING = 'ioUringSetup:ENOSYS:1-1000000';
/** Much longer than a failed write waits for its next try. */
const RETRY_MS = 20_000;

/** The calls that fail of each kind, and by which codes calls of the program may fail then. */
const KINDS = {
  'cannot be read': {
    calls: 'io/pread:EIO:1-1000000,manager/preadv2:EAGAIN:1-1000000',
    codes: ['FILE_IO'],
  },
  'cannot be written': {
    calls: 'io/pwrite:EIO:1-1000000',
    codes: ['OUT_OF_STORAGE', 'FILE_IO', 'FLUSH_FAILED'],
  },
  'is full': {
    calls: 'io/pwrite:ENOSPC:1-1000000',
    codes: ['OUT_OF_STORAGE', 'FILE_IO', 'FLUSH_FAILED'],
  },
};

export class Disk {
  private readonly crowd: Uint32Array;
  private readonly wanted = new Uint32Array(CROWD_BYTES / 4);
  /** What failed may still be told of. */
  private failed = false;

  private constructor(
    private readonly failing: FailingSpace,
    private readonly healer: Healer,
    private readonly kind: keyof typeof KINDS,
  ) {
    const { space } = failing;
    this.crowd = space.array(Uint32Array, this.wanted.length, { name: 'crowd' }).data;
    this.crowd.fill(1);
    this.wanted.fill(1);
  }

  static async open(
    random: Random,
    options: SpaceOptions,
    log: (text: string) => void,
  ): Promise<Disk> {
    const kind = random.pick(Object.keys(KINDS) as (keyof typeof KINDS)[]);
    const bytes = `${random.pick([32, 64])}MiB`;
    const crowded = {
      ...options,
      hostMemory: `${HOST_MIB}MiB`,
      storage: { path: tmpdir(), bytes },
    };
    log(`openSpace(${JSON.stringify(crowded)}), on a disk that at times ${kind}`);
    const { calls } = KINDS[kind];
    const failing = await openFailing(calls, crowded, NO_RING);
    return new Disk(failing, await startHealer(failing.space), kind);
  }

  get space(): AddressSpace {
    return this.failing.space;
  }

  /** By which codes calls may fail that need the disk. */
  get codes(): readonly string[] {
    return this.failed ? KINDS[this.kind].codes : [];
  }

  /** It fails for a while, or is waited for until it does not. */
  async turn(player: Player): Promise<void> {
    if (this.failed) {
      await this.recover(player);
      if (player.random.chance(0.3)) return;
    }
    const ms = player.random.between(1, MOST_MS);
    player.log(`the disk ${this.kind} for ${ms} ms`);
    this.failed = true;
    this.failing.arm();
    this.healer.after(ms);
    this.press(player);
  }

  /** Others' pages go to the disk, and those come back that went there before. */
  press({ random, log }: Player): void {
    const { length } = this.wanted;
    const begin = random.below(length);
    const end = Math.min(length, begin + random.between(length / 8, length / 2));
    const item = random.below(100);
    log(`the crowd: ${begin} to ${end} is read, and filled with ${item}`);
    this.verify(begin, end);
    this.crowd.fill(item, begin, end);
    this.wanted.fill(item, begin, end);
  }

  async close(player: Player): Promise<void> {
    await this.recover(player);
    this.verify(0, this.wanted.length);
    player.log(`${this.failing.fired()} calls failed`);
    await this.healer.end();
  }

  /** Resolves when nothing fails, and what was to be written is written. */
  async whole(player: Player): Promise<void> {
    const end = Date.now() + RETRY_MS;
    while (this.failing.armed) await sleep();
    while (this.space.stats().storage?.full === true) {
      assert.ok(
        Date.now() < end,
        `storage is full, and its disk has been whole for ${RETRY_MS} ms`,
      );
      this.press(player);
      this.crowdOut();
      await sleep();
    }
  }

  /** The crowd alone may have room in host memory. */
  private crowdOut(): void {
    const more = this.space.array(Uint8Array, MORE_BYTES);
    more.data.fill(1);
    more.free();
  }

  private async recover(player: Player): Promise<void> {
    player.log('the disk is waited for');
    await this.whole(player);
    await player.rest();
    this.failed = false;
  }

  private verify(begin: number, end: number): void {
    const [found, wanted] = [this.crowd, this.wanted].map(
      (each) => new Uint8Array(each.buffer, each.byteOffset + begin * 4, (end - begin) * 4),
    );
    assert.equal(Buffer.compare(found, wanted), 0, `the crowd, ${begin} to ${end}, is wrong`);
  }
}

function sleep(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
