/** The simulated device as it is, with a note of when its page table may have changed: reading all of it takes long. */
import { Access, type Status } from '../../src/core/types.js';
import { SimulatedDevice } from '../../src/drivers/simulated/simulated-device.js';
import { PAGES } from './model-device.js';

/** What a processor can really do now, a bit for each page. */
export interface Rights {
  readonly readable: Int32Array;
  readonly writable: Int32Array;
}

export class WatchedDevice extends SimulatedDevice {
  private readonly rights: Rights = { readable: new Int32Array(PAGES / 32), writable: new Int32Array(PAGES / 32) };
  private changed = false;

  override map(...args: Parameters<SimulatedDevice['map']>): void {
    this.changed = true;
    super.map(...args);
  }

  override revoke(...args: Parameters<SimulatedDevice['revoke']>): Status {
    this.changed = true;
    return super.revoke(...args);
  }

  override release(...args: Parameters<SimulatedDevice['release']>): void {
    this.changed = true;
    super.release(...args);
  }

  override progress(): boolean {
    const moved = super.progress();
    if (moved) this.changed = true;
    return moved;
  }

  look(): Rights {
    const { readable, writable } = this.rights;
    if (!this.changed) return this.rights;
    this.changed = false;
    readable.fill(0);
    writable.fill(0);
    for (let word = 0; word < readable.length; word++) {
      let read = 0;
      let write = 0;
      for (let bit = 0; bit < 32; bit++) {
        const access = this.mmu.access(word * 32 + bit);
        if (access !== Access.None) read |= 1 << bit;
        if (access === Access.Write) write |= 1 << bit;
      }
      readable[word] = read;
      writable[word] = write;
    }
    return this.rights;
  }
}
