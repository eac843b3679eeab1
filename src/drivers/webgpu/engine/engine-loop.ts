/**
 * The loop of an engine's thread: it takes packets, and gives WebGPU its turns. In Node.js WebGPU
 * finds out by turns of the event loop whether something has been done, one after the other, which
 * keeps a CPU busy for as long as a kernel runs: a GPU in software needs it itself, and any other
 * program would like it. So the thread sleeps between turns, ever longer while nothing happens, at
 * the socket, so that packets wake it.
 */

import { setTimerSlack } from '../../../linux/processes/process.js';
import { Poller } from '../../../linux/sockets/poll.js';
import type { MessageSocket } from '../../../linux/sockets/socket.js';

/** How long turns follow at once after something happened: copies of some pages take that. */
const AT_ONCE_MS = 0.05;
/** Then the thread sleeps for this part of the quiet time, so an end is seen late by no more. */
const SHARE = 1 / 16;
const LONGEST_MS = 0.5;
/** The same while nothing is under way: only what is lost meanwhile is heard of by turns. */
const IDLE_MS = 100;
/** By how many nanoseconds the kernel may prolong a sleep; it takes 50,000 unless told. */
const SLACK_NS = 1000;

/** What is done with packets. */
export interface Work {
  /** Whether something is under way. */
  readonly isBusy: boolean;
  /** How much has happened so far. */
  readonly events: number;
  take(packet: Uint8Array): void;
  /** The other end has gone: there will be no further turn. */
  closed(): void;
}

/** The time that passes between turns. */
export interface LoopClock {
  now(): number;
  /** Lets so much time pass, less when a packet has come by then: returns whether one has. */
  sleep(ms: number): boolean;
}

/** Time passes while the thread sleeps at the socket. */
export function clockAt(socket: MessageSocket): LoopClock {
  const poller = new Poller(1);
  poller.set(0, socket.fd);
  setTimerSlack(SLACK_NS);
  return { now: () => performance.now(), sleep: (ms) => poller.wait(ms) > 0 };
}

/** Runs until the other end has gone. */
export function runEngineLoop(
  socket: MessageSocket,
  work: Work,
  clock: LoopClock = clockAt(socket),
): void {
  let { events } = work;
  let since = clock.now();
  const turn = (): void => {
    let message = socket.receive();
    if (message === null && events === work.events) {
      const quietMs = clock.now() - since;
      if (clock.sleep(sleepMs(work.isBusy, quietMs))) message = socket.receive();
    }
    if (message !== null || events !== work.events) since = clock.now();
    events = work.events;
    for (; message !== null; message = socket.receive()) {
      if (message === 'closed') {
        work.closed();
        return;
      }
      work.take(message.bytes);
    }
    setImmediate(turn);
  };
  turn();
}

function sleepMs(isBusy: boolean, quietMs: number): number {
  if (!isBusy) return IDLE_MS;
  return quietMs < AT_ONCE_MS ? 0 : Math.min(quietMs * SHARE, LONGEST_MS);
}
