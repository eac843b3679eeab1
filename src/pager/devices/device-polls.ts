/** Descriptors of devices in the poller, and what is done for each device in a round. */
import { MAX_PROCESSORS } from '../../core/basics/types.js';
import type { ProcessDriver } from '../../drivers/process-driver.js';
import { POLLIN, POLLOUT } from '../../linux/base/constants.js';
import type { Poller } from '../../linux/sockets/poll.js';
import type { Device } from './device.js';

/** How long to sleep while a packet waits: the kernel tells of room, not of memory. */
const SENDING_MS = 20;
/** How many faults a step of a device in this thread counts as: it may take as long as so many. */
const DEVICE_STEP = 16;
/** Between two looks for answers that are overdue. */
const LOOK_MS = 1000;
const SLOTS_PER_DEVICE = 3;
/** Places of a device's descriptors in its part of the poller. */
const FAULTS = 0;
const PACKETS = 1;
const LIFE = 2;

/** How many slots a poller needs whose first one for devices this is. */
export function pollerSlots(firstSlot: number): number {
  return firstSlot + MAX_PROCESSORS * SLOTS_PER_DEVICE;
}

export class DevicePolls {
  private readonly places: (Device | undefined)[] = [];
  /** Devices that have a process, and with it a descriptor to read faults from. */
  processes = 0;
  /**
   * A time from the beginning: from a small integer on the object would change its shape with the
   * first look, which throws away what was compiled for it.
   */
  private lastLook = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly poller: Poller,
    private readonly firstSlot: number,
  ) {}

  add(device: Device): void {
    let place = 0;
    while (this.places[place] !== undefined) place++;
    this.places[place] = device;
    const { process } = device;
    if (process === null) return;
    this.processes++;
    this.poller.set(this.slot(place, PACKETS), process.socket.fd);
    this.poller.set(this.slot(place, LIFE), process.pidfd);
  }

  remove(device: Device): void {
    const place = this.places.indexOf(device);
    this.stopPolling(place);
    this.places[place] = undefined;
    if (device.process !== null) this.processes--;
  }

  /** Places that there are, some of which may have no device. */
  get length(): number {
    return this.places.length;
  }

  /** Takes the faults of one device that wait; returns how many there were. */
  readFaults(place: number): number {
    return this.places[place]?.process?.readFaults() ?? 0;
  }

  /** Takes answers of devices that owe some. What waits for them need not wait for quiet. */
  readAnswers(): void {
    for (let place = 0; place < this.places.length; place++) {
      const process = this.places[place]?.process ?? null;
      if (process?.owesAnswers === true) this.readPackets(place, process);
    }
  }

  /** Nothing that the core asked for waits: what devices send goes to engines together. */
  sendReads(): void {
    for (let place = 0; place < this.places.length; place++)
      this.places[place]?.process?.engine?.sendReads();
  }

  /** Whether the poller has found faults of a device. */
  get haveFaults(): boolean {
    for (let place = 0; place < this.places.length; place++) {
      if (this.poller.readyAt(this.slot(place, FAULTS)) !== 0) return true;
    }
    return false;
  }

  /** A launch that is to end without a packet; 0: there is none. */
  get awaited(): number {
    for (let place = 0; place < this.places.length; place++) {
      const launch = this.places[place]?.process?.ends?.awaited ?? 0;
      if (launch !== 0) return launch;
    }
    return 0;
  }

  /** Whether a launch has ended without a packet. */
  get haveEnds(): boolean {
    for (let place = 0; place < this.places.length; place++) {
      if (this.places[place]?.process?.ends?.hasEnd === true) return true;
    }
    return false;
  }

  /** From now on the poller tells of the ends of launches. True: one has ended by now. */
  unwatch(): boolean {
    let ended = false;
    for (let place = 0; place < this.places.length; place++) {
      if (this.places[place]?.process?.ends?.unwatch() === true) ended = true;
    }
    return ended;
  }

  /** Lets devices that work in this thread, or have something to do in it, go on a step. */
  step(): number {
    let any = false;
    for (let place = 0; place < this.places.length; place++) {
      const device = this.places[place];
      if (device?.checked?.progress() === true || device?.process?.engine?.step() === true)
        any = true;
    }
    return any ? DEVICE_STEP : 0;
  }

  /** Milliseconds to sleep for drivers that answer by timer or message, which wake nobody. */
  sleepMs(most: number): number {
    let sleep = most;
    for (let place = 0; place < this.places.length; place++) {
      const device = this.places[place];
      if (device?.checked?.waiting === true) return Math.min(most, 1);
      if (device?.process?.sending === true) sleep = Math.min(sleep, SENDING_MS);
    }
    return sleep;
  }

  /** Sends packets that waited, and polls for room for those that still do. */
  flush(): void {
    for (let place = 0; place < this.places.length; place++) {
      const device = this.places[place];
      const process = device?.process ?? null;
      if (device === undefined || process === null || !(process.sending || device.wantsRoom))
        continue;
      if (process.sending) process.sendRest();
      // One that is being detached is still polled.
      if (process.sending === device.wantsRoom || device.lost) continue;
      device.wantsRoom = process.sending;
      const events = device.wantsRoom ? POLLIN | POLLOUT : POLLIN;
      this.poller.set(this.slot(place, PACKETS), process.socket.fd, events);
    }
  }

  /** Looks for answers that are overdue, and whether processes are in a state to give them. */
  look(nowMs: number): void {
    if (nowMs - this.lastLook < LOOK_MS) return;
    this.lastLook = nowMs;
    for (let place = 0; place < this.places.length; place++) {
      this.places[place]?.checked?.look();
      this.places[place]?.process?.look();
    }
  }

  /** Handles what the poller found. True when a process has ended. */
  handleReady(): boolean {
    const { poller } = this;
    let ended = false;
    for (let place = 0; place < this.places.length; place++) {
      const process = this.places[place]?.process ?? null;
      if (process === null) continue;
      const come = poller.readyAt(this.slot(place, PACKETS)) !== 0 || process.ends?.hasEnd === true;
      if (come) this.readPackets(place, process);
      if (poller.readyAt(this.slot(place, LIFE)) !== 0) {
        this.stopPolling(place);
        process.processEnded();
        ended = true;
      }
    }
    return ended;
  }

  private readPackets(place: number, process: ProcessDriver): void {
    if (process.readPackets()) this.poller.set(this.slot(place, FAULTS), process.faultFd);
  }

  private slot(place: number, which: number): number {
    return this.firstSlot + place * SLOTS_PER_DEVICE + which;
  }

  private stopPolling(place: number): void {
    for (let which = 0; which < SLOTS_PER_DEVICE; which++)
      this.poller.clear(this.slot(place, which));
  }
}
