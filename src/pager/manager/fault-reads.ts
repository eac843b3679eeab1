/**
 * Which descriptors a look for faults reads. A thread that was answered mostly faults again, so
 * that the descriptor that had a fault last is read first; and while it has one each time, the
 * others are only read now and then: a read in vain costs as much as all that is decided for a
 * fault.
 */

/** Reads in a row of one descriptor, after which others have their turn. */
const IN_A_ROW = 8;
/** Stands for the host's descriptor among the places of devices. */
const OWN_PLACE = -1;

/** Where faults are read: the host's descriptor, devices', and other processes'. */
export interface FaultSources {
  readonly host: { readFaults(): number };
  readonly polls: {
    readonly processes: number;
    readonly length: number;
    readFaults(place: number): number;
  };
  readonly attachments: { readFaults(): number };
}

export class FaultReads {
  /** Whether there may be faults, as far as the poller has found or a thread's answer says. */
  expected = false;
  /** Whose descriptor had a fault last. */
  private last = OWN_PLACE;
  private inARow = 0;

  constructor(private readonly parts: FaultSources) {}

  step(): number {
    return this.expected ? this.read() + this.parts.attachments.readFaults() : 0;
  }

  /** Takes faults of this process and of devices that wait; returns how many there were. None: nobody's descriptor had any. */
  read(): number {
    const { host, polls } = this.parts;
    if (polls.processes === 0) return host.readFaults();
    const first = this.readAt(this.last);
    if (first > 0 && ++this.inARow < IN_A_ROW) return first;
    const before = this.last;
    let found = first;
    this.inARow = 0;
    for (let place = OWN_PLACE; place < polls.length; place++) {
      if (place === before) continue;
      const more = this.readAt(place);
      if (more > 0) this.last = place;
      found += more;
    }
    return found;
  }

  private readAt(place: number): number {
    const { host, polls } = this.parts;
    return place === OWN_PLACE ? host.readFaults() : polls.readFaults(place);
  }
}
