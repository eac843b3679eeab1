/** Gives units launches by shared memory, and wakes each by its socket. */
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/base/constants.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { createMemoryFile, mmap, munmap, view } from '../../linux/memory/memory.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import type { DriverLaunch } from '../driver.js';
import { RING_BYTES, ring } from './bell.js';
import { LaunchBoard } from './board.js';
import { numberPacket, Packet, partition } from './protocol.js';

export class Units {
  /** The board's memory, for the device's process. */
  readonly file: number;
  private readonly bytes: number;
  private readonly address: number;
  private readonly board: LaunchBoard;
  /** By units; those that are not up have none. */
  private readonly bells: (MessageSocket | undefined)[] = [];

  constructor(
    name: string,
    private readonly count: number,
  ) {
    this.bytes = LaunchBoard.bytesFor(count);
    this.file = createMemoryFile(`onemem-${name}-launches`, this.bytes);
    try {
      this.address = mmap(this.bytes, {
        protection: PROT_READ | PROT_WRITE,
        flags: MAP_SHARED,
        fd: this.file,
      });
    } catch (error) {
      closeDescriptor(this.file);
      throw error;
    }
    this.board = new LaunchBoard(view(this.address, this.bytes), count);
  }

  /**
   * Gives units their parts of a launch; returns how many there are.
   * @param otherwise sends the device's process word of a unit that cannot be woken from here: of
   * its part of the launch, or, if it has been given that, that it is to be woken
   */
  give(launch: DriverLaunch, otherwise: (packet: Uint8Array) => void): number {
    const parts = partition(launch.begin, launch.end, this.count).length;
    this.board.write(launch, parts);
    for (let unit = 0; unit < parts; unit++) {
      const bell = this.bells[unit];
      if (bell === undefined || !this.board.unit(unit).give(launch.id)) {
        otherwise(numberPacket(Packet.Give, unit, launch.id));
      } else if (!ring(bell)) otherwise(numberPacket(Packet.Wake, unit));
    }
    return parts;
  }

  /** Whether all parts of the last launch are over. */
  get allOver(): boolean {
    return this.board.allOver;
  }

  /** A packet tells of the launch's end from now on. True: it has ended without one. */
  unwatch(): boolean {
    return this.board.unwatch();
  }

  isOver(unit: number, launch: number): boolean {
    return this.board.unit(unit).isOver(launch);
  }

  /** A unit is up, and woken by what is sent through a socket. */
  up(unit: number, bell: number): void {
    this.down(unit);
    this.bells[unit] = new MessageSocket(bell, RING_BYTES);
  }

  down(unit: number): void {
    this.bells[unit]?.close();
    this.bells[unit] = undefined;
  }

  close(): void {
    for (const unit of this.bells.keys()) this.down(unit);
    munmap(this.address, this.bytes);
    closeDescriptor(this.file);
  }
}
