/**
 * Reads and writes what is read and written where it stands: pipes and sockets, mostly. Each waits
 * for its other end, which may be waiting for another one of them, as a filter does that is written
 * to and read from: so none stands in line behind another.
 */
import type { IoEngine, IoJob } from './io-ring.js';

/** A thread, and what it read or wrote last. */
interface User {
  readonly engine: IoEngine;
  fd: number;
  kind: number;
}

/** Threads at once; with more descriptors than that some wait for others. */
const MOST = 32;
/** Threads that are kept for what comes next. */
const KEPT = 2;

export class Pipes {
  private readonly users: User[] = [];

  constructor(private readonly newEngine: () => IoEngine) {}

  /** A read or a write, as IoEngine's. */
  begin(job: IoJob): void {
    this.engineFor(job).begin(job);
  }

  poll(): void {
    // An answer may ask for the next part, of a thread that is made for it.
    for (let at = 0; at < this.users.length; at++) this.users[at].engine.poll();
    for (let at = this.users.length - 1, idle = 0; at >= 0 && this.users.length > KEPT; at--) {
      if (this.users[at].engine.load > 0 || ++idle <= KEPT) continue;
      this.users[at].engine.close();
      this.users.splice(at, 1);
    }
  }

  needsTurn(): boolean {
    return this.users.some(({ engine }) => engine.needsTurn());
  }

  sleepMs(most: number): number {
    let least = most;
    for (const { engine } of this.users) least = engine.sleepMs(least);
    return least;
  }

  /** As IoEngine's. */
  get isBusy(): boolean {
    return this.users.some(({ engine }) => engine.isBusy);
  }

  close(): void {
    for (const { engine } of this.users) engine.close();
  }

  /** What goes to one descriptor stays in order. */
  private engineFor({ fd, kind }: IoJob): IoEngine {
    const { users } = this;
    let user =
      users.find((each) => each.fd === fd && each.kind === kind && each.engine.load > 0) ??
      users.find(({ engine }) => engine.load === 0);
    // Behind what another descriptor has there, whose thread it stays.
    if (user === undefined && users.length === MOST) return users[fd % MOST].engine;
    if (user === undefined) {
      user = { engine: this.newEngine(), fd, kind };
      users.push(user);
    }
    user.fd = fd;
    user.kind = kind;
    return user.engine;
  }
}
