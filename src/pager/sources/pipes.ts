/**
 * Reads and writes what is read and written where it stands: pipes and sockets, mostly. Each waits
 * for its other end, which may be waiting for another one of them, as a filter does that is written
 * to and read from: so none stands in line behind another.
 */
import type { IoEngine } from './io-ring.js';

type Way = 'read' | 'write';

/** A thread, and what it read or wrote last. */
interface User {
  readonly engine: IoEngine;
  fd: number;
  way: Way;
}

/** Threads at once; with more descriptors than that some wait for others. */
const MOST = 32;
/** Threads that are kept for what comes next. */
const KEPT = 2;

export class Pipes {
  private readonly users: User[] = [];

  constructor(private readonly newEngine: () => IoEngine) {}

  /** As IoEngine.read. */
  read(
    fd: number,
    address: number,
    length: number,
    done: (result: number, moved: number) => void,
  ): void {
    this.engineFor(fd, 'read').read(fd, address, length, -1, done);
  }

  /** As IoEngine.write. */
  write(
    fd: number,
    address: number,
    length: number,
    done: (result: number, moved: number) => void,
  ): void {
    this.engineFor(fd, 'write').write(fd, address, length, -1, done);
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
  private engineFor(fd: number, way: Way): IoEngine {
    const { users } = this;
    let user =
      users.find((each) => each.fd === fd && each.way === way && each.engine.load > 0) ??
      users.find(({ engine }) => engine.load === 0);
    // Behind what another descriptor has there, whose thread it stays.
    if (user === undefined && users.length === MOST) return users[fd % MOST].engine;
    if (user === undefined) {
      user = { engine: this.newEngine(), fd, way };
      users.push(user);
    }
    user.fd = fd;
    user.way = way;
    return user.engine;
  }
}
