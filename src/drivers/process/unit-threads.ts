/**
 * The threads of a device's process that run kernels. Each is started with the first launch that
 * has work for it, and one that ends, whatever a kernel did, is reported and replaced.
 */
import type { Worker } from 'node:worker_threads';
import { SOCK_STREAM } from '../../linux/base/constants.js';
import { createSocketPair, MessageSocket } from '../../linux/sockets/socket.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import { RING_BYTES, ring } from './bell.js';
import type { LaunchBoard } from './board.js';
import { jsonPacket, numberPacket, Packet, type UnitEnd } from './protocol.js';

/** Between two tries to wake a unit where the kernel has no memory for it. */
const RING_AGAIN_MS = 10;

interface Unit {
  readonly worker: Worker;
  /** What is sent here wakes it. */
  readonly bell: MessageSocket;
  /** It has said that it is ready. */
  up: boolean;
  /** The launch because of which it is being ended. */
  aborted: number;
  error: Error | null;
}

/** What each thread of the device gets. */
export interface ThreadSurroundings {
  readonly base: number;
  readonly socket: number;
  /** Where the board of launches is. */
  readonly board: number;
  readonly units: number;
}

export class UnitThreads {
  private readonly units = new Map<number, Unit>();

  constructor(
    private readonly device: string,
    private readonly socket: MessageSocket,
    private readonly board: LaunchBoard,
    private readonly surroundings: ThreadSurroundings,
  ) {}

  wake(unit: number): void {
    const known = this.units.get(unit);
    if (known === undefined) this.start(unit);
    else if (!ring(known.bell)) setTimeout(() => this.wake(unit), RING_AGAIN_MS);
  }

  abort(launch: number): void {
    for (let unit = 0; unit < this.surroundings.units; unit++) {
      if (!this.board.unit(unit).abort(launch)) continue;
      const state = this.units.get(unit);
      if (state === undefined) continue;
      state.aborted = launch;
      void state.worker.terminate();
    }
  }

  tell(what: string): void {
    process.stderr.write(`onemem: device ${this.device}: ${what}\n`);
  }

  private start(unit: number): void {
    let state: Unit;
    try {
      // Of a kind that an event loop waits at.
      const [theirs, bell] = createSocketPair(SOCK_STREAM);
      const worker = startOwnThread(new URL('./unit.cjs', import.meta.url), {
        workerData: { ...this.surroundings, unit, bell: theirs },
        name: `${this.device} unit ${unit}`,
      });
      state = {
        worker,
        bell: new MessageSocket(bell, RING_BYTES),
        up: false,
        aborted: 0,
        error: null,
      };
    } catch (error) {
      this.failToStart(unit, (error as Error).message);
    }
    this.units.set(unit, state);
    const { worker, bell } = state;
    worker.once('message', (thread: number) => {
      state.up = true;
      this.place(unit, thread, [bell.fd]);
    });
    worker.on('error', (error) => {
      state.error = error;
    });
    worker.on('exit', (code) => this.replace(unit, state, code));
  }

  private failToStart(unit: number, why: string): never {
    this.socket.send(jsonPacket(Packet.Failed, `unit ${unit} could not start: ${why}`), [], true);
    process.exit(1);
  }

  /** Another unit takes the place of one that has ended. */
  private replace(unit: number, { bell, up: wasUp, aborted, error }: Unit, exitCode: number): void {
    const assignment = this.board.unit(unit);
    const given = assignment.end();
    if (!wasUp) this.failToStart(unit, error?.message ?? `it ended with code ${exitCode}`);
    bell.close();
    this.place(unit, 0);
    this.start(unit);
    assignment.renew();
    const launch = aborted || given;
    if (launch === 0) {
      this.tell(
        `unit ${unit} ended between two launches, and was replaced: ${error?.stack ?? `exit code ${exitCode}`}`,
      );
      return;
    }
    const end: UnitEnd = {
      launch,
      unit,
      aborted: aborted !== 0,
      exitCode,
      error:
        error === null
          ? null
          : { name: error.name, message: error.message, stack: error.stack ?? '' },
    };
    this.socket.send(jsonPacket(Packet.UnitEnded, end), [], true);
    if (this.board.endPart(unit, launch))
      this.socket.send(numberPacket(Packet.Launched, launch), [], true);
  }

  /** Tells the manager which thread a unit is; 0: none. The first place is the control thread's. */
  private place(unit: number, thread: number, descriptors: readonly number[] = []): void {
    this.socket.send(numberPacket(Packet.Thread, unit + 1, thread), descriptors, true);
  }
}
