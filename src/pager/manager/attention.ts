/**
 * Whether the manager is awake, as its clients know. A client that asks something of a manager that
 * is awake raises a word, which the manager reads before it sleeps; to wake one that sleeps takes a
 * system call, and two switches of threads.
 */
import { Control } from '../protocol/control.js';

export class Attention {
  /** The word of what was asked, when it was taken last. */
  private taken = 0;

  /** @param control words that all threads of the space share */
  constructor(private readonly control: Int32Array) {}

  /** Whether something has been asked since `take`. */
  get isAsked(): boolean {
    return Atomics.load(this.control, Control.Asked) !== this.taken;
  }

  /** What has been asked is about to be read. Returns whether there is something. */
  take(): boolean {
    const asked = Atomics.load(this.control, Control.Asked);
    const isNew = asked !== this.taken;
    this.taken = asked;
    return isNew;
  }

  /** From now on the manager must be woken. False: something came meanwhile. */
  sleep(): boolean {
    // The word of a client comes before its look whether to wake, and ours in the other order: one
    // of the two sees what the other did.
    Atomics.store(this.control, Control.Awake, 0);
    return !this.isAsked;
  }

  wake(): void {
    Atomics.store(this.control, Control.Awake, 1);
  }
}
