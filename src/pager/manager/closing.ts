/** How a space ends: launches end, shared files are written, then everything goes. */

import { partsThat } from '../core/part.js';
import type { ClosedSpace } from '../protocol/closed-space.js';
import { Control, SpaceState } from '../protocol/control.js';
import type { Answer } from '../protocol/messages.js';
import type { Requests } from '../protocol/requests.js';
import { startsEnded } from '../protocol/starting.js';
import { RequestError, type WireError, wireError } from '../protocol/wire.js';
import type { ClientEvents } from './clients.js';
import type { Parts } from './parts.js';

export class Closing {
  /** Nothing is left of the space. */
  finished = false;
  /** Spaces with views left, whose late uses this thread answers after its own has closed. */
  readonly closedSpaces: ClosedSpace[] = [];
  /** What was written and is lost with the space. */
  private lost: WireError | null = null;
  /** Called when nothing is left. */
  private done: (() => void) | null = null;
  /** What has to end first has ended: spaces that were closed before, of which views are left. */
  private due: readonly ClosedSpace[] | null = null;

  constructor(
    private readonly parts: Parts,
    private readonly clientEvents: ClientEvents,
  ) {}

  /** Refuses what a space that is being closed takes no more. */
  refuse(): void {
    if (this.done !== null)
      throw new RequestError('SPACE_CLOSED', 'the space is being closed; open a new one');
  }

  /** @param before spaces that were closed before, of which views are left */
  close(
    timeoutMs: number | null,
    before: readonly ClosedSpace[],
    answer: Answer<Requests['close']['out']>,
  ): void {
    this.begin(timeoutMs, before, (failure) =>
      answer(
        failure === null ? { closed: this.closedSpaces.at(0) ?? null, lost: this.lost } : null,
        failure,
      ),
    );
  }

  /**
   * Ends the space: launches that run may end, in so many milliseconds if that is said, the others
   * are cancelled. `done` is called when nothing is left.
   */
  begin(
    timeoutMs: number | null,
    before: readonly ClosedSpace[],
    done: (failure: WireError | null) => void,
  ): void {
    const { launches, streams, providers, sharedArrays, sharedUses, writeBack, devices, copies } =
      this.parts;
    if (timeoutMs !== null) launches.endings.stopAll(timeoutMs, 'the space is being closed');
    if (this.done !== null) return;
    this.done = () => done(null);
    streams.cancelAll(wireError('SPACE_CLOSED', 'cancelled: the space is being closed'));
    sharedUses.cancelAll();
    let running = 1;
    const flushed = (failure: WireError | null): void => {
      if (failure === null) {
        sharedArrays.leaveAll((lost) => {
          this.lost = lost;
          providers.endAll(() => {
            this.due = before;
          });
        });
      } else {
        // The space stays, with all that was written: its owner can make room and close it again.
        this.done = null;
        done(failure);
      }
    };
    const idle = (): void => {
      if (--running === 0) writeBack.flushAll(flushed);
    };
    for (const device of devices.all) {
      running++;
      launches.whenIdle(device, idle);
    }
    running++;
    copies.whenIdle(idle);
    idle();
  }

  /**
   * Gives everything back once what has to end first has ended; true when nothing is left. To be
   * called between the rounds of the loop: what is asked for in a round, by other threads too,
   * finds the memory still there.
   */
  step(): boolean {
    const { stores, copyThreads, engine, pipes } = this.parts;
    // A disk, a server or a thread that copies may be reading or writing memory that is about to be
    // unmapped.
    if (this.due === null || stores.isBusy || copyThreads.isBusy) return this.finished;
    // Transfers of files and pipes go on to the end of what is at hand.
    engine.close();
    pipes.close();
    if (engine.isBusy || pipes.isBusy) return this.finished;
    this.shutDown(this.due);
    this.due = null;
    return this.finished;
  }

  /** The process exits: children first, nothing else matters any more. */
  stop(): void {
    for (const device of this.parts.devices.all) device.process?.kill();
    this.finished = true;
    Atomics.store(this.parts.control, Control.State, SpaceState.Closed);
  }

  /** Waits for what ends by itself, then answers the request for the end. */
  async complete(): Promise<void> {
    const { control, clients, all } = this.parts;
    if (Atomics.load(control, Control.Stop) === 1) return;
    await startsEnded(control);
    for (const part of partsThat('ended', all)) await part.ended();
    this.done?.();
    clients.close();
  }

  private shutDown(before: readonly ClosedSpace[]): void {
    const { clients, host, control, arrays, options, all } = this.parts;
    clients.forgetEnded(this.clientEvents);
    for (const part of partsThat('close', all).toReversed()) part.close();
    const { base } = host.node;
    // Where no view is left there are no late uses to answer.
    const faults = host.close(Atomics.load(control, Control.Views) > 0);
    if (faults !== null) {
      const closed = {
        base,
        bytes: options.bytes,
        faults,
        control: options.control,
        arrays: arrays.closed(),
      };
      this.closedSpaces.push(closed, ...before);
    }
    Atomics.store(control, Control.State, SpaceState.Closed);
    clients.tellFreed(null);
    this.finished = true;
  }
}
