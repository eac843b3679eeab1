/**
 * The program of a device's process. The main thread maps the node's memory at the space's address, registers it for faults,
 * hands the descriptor over and starts the control thread; afterwards it passes on what kernels print, and looks after the units: each is
 * started with the first launch that has work for it, and one that ends, whatever a kernel did, is reported and replaced. It must not compute: a thread that waits in a fault answers to nobody.
 */

import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { MAP_FIXED_NOREPLACE, MAP_NORESERVE, MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/constants.js';
import { mmap } from '../../linux/memory.js';
import { exitImmediately, setParentDeathSignal } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import { Userfaultfd } from '../../linux/userfaultfd.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../paged-memory.js';
import { Assignment } from './assignment.js';
import {
  type Hello,
  jsonPacket,
  MAX_PACKET_BYTES,
  numberPacket,
  type Order,
  Packet,
  readJson,
  type UnitEnd,
  type UnitPlace,
} from './protocol.js';

const SOCKET = 3;
const SIGKILL = 9;
/** The control thread's place among the threads that the manager looks after; units follow it. */
const CONTROL = 0;

interface Unit {
  readonly assignment: Assignment;
  /** Its end of the channel on which launches come. */
  readonly port: MessagePort;
  /** Null until it has been started. */
  worker: Worker | null;
  /** It has said that it is ready. */
  up: boolean;
  /** The launch because of which it is being ended. */
  aborted: number;
  error: Error | null;
}

// The device ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Node would wait for its threads, of which one waits for messages and others may wait in faults.
process.on('exit', (code) => exitImmediately(code));

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);
try {
  start();
} catch (error) {
  try {
    socket.send(jsonPacket(Packet.Failed, error instanceof Error ? error.message : String(error)), [], true);
  } catch {
    // The owner has gone while the device was starting: nobody is left to be told.
  }
  process.exit(1);
}

function start(): void {
  const message = socket.receive(true);
  if (message === null || message === 'closed') process.exit(1);
  const hello = readJson<Hello>(message.bytes);
  const [memory, hostMemory] = message.fds;
  mmap(hello.bytes, {
    address: hello.base,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
    fd: memory,
  });
  settleMapping(hello.base, hello.bytes);
  const faults = Userfaultfd.open({ features: FAULT_FEATURES });
  faults.register(hello.base, hello.bytes, FAULT_MODES);
  // Our own copy of the descriptor stays open: if the owner's went first, threads would go on with unfilled pages.
  socket.send(numberPacket(Packet.Registered), [faults.fd], true);
  const units: Unit[] = [];
  const places = Array.from({ length: hello.units }, (_, unit) => prepareUnit(unit));
  const control = new Worker(new URL('./control.cjs', import.meta.url), {
    workerData: { base: hello.base, socket: SOCKET, places, memory, hostMemory, faults: faults.fd },
    transferList: places.map(({ port }) => port),
    name: `${hello.name} control`,
  });
  control.once('message', (thread: number) => {
    up(CONTROL, thread);
    socket.send(numberPacket(Packet.Ready), [], true);
    control.on('message', (order: Order) => {
      if ('start' in order) startUnit(order.start);
      else abort(order.abort);
    });
  });
  control.on('error', (error) => tell(`the control thread failed: ${error.stack ?? error.message}`));
  // Nobody would answer the manager any more.
  control.on('exit', () => process.exit(1));

  function up(place: number, thread: number): void {
    socket.send(numberPacket(Packet.Thread, place, thread), [], true);
  }

  /** A unit that can be given launches, though nothing of it runs yet. */
  function prepareUnit(unit: number): UnitPlace {
    const { port1, port2 } = new MessageChannel();
    const assignment = new Assignment();
    units[unit] = { assignment, port: port2, worker: null, up: false, aborted: 0, error: null };
    return { unit, port: port1, assignment: assignment.memory };
  }

  function startUnit(unit: number): void {
    const state = units[unit];
    const { port, assignment } = state;
    const worker = new Worker(new URL('./unit.cjs', import.meta.url), {
      workerData: { base: hello.base, unit, socket: SOCKET, port, assignment: assignment.memory },
      transferList: [port],
      name: `${hello.name} unit ${unit}`,
    });
    state.worker = worker;
    worker.once('message', (thread: number) => {
      state.up = true;
      up(unit + 1, thread);
    });
    worker.on('error', (error) => {
      state.error = error;
    });
    worker.on('exit', (code) => replace(unit, state, code));
  }

  function abort(launch: number): void {
    for (const unit of units) {
      if (!unit.assignment.abort(launch)) continue;
      unit.aborted = launch;
      void unit.worker?.terminate();
    }
  }

  /** Another unit takes the place of one that has ended. The manager hears of it when launches reach the new one. */
  function replace(unit: number, { assignment, up: wasUp, aborted, error }: Unit, exitCode: number): void {
    const given = assignment.end();
    if (!wasUp) {
      const why = `unit ${unit} could not start: ${error?.message ?? `it ended with code ${exitCode}`}`;
      socket.send(jsonPacket(Packet.Failed, why), [], true);
      process.exit(1);
    }
    socket.send(numberPacket(Packet.Thread, unit + 1, 0), [], true);
    const place = prepareUnit(unit);
    startUnit(unit);
    control.postMessage(place, [place.port]);
    const launch = aborted || given;
    if (launch === 0) {
      tell(`unit ${unit} ended between two launches, and was replaced: ${error?.stack ?? `exit code ${exitCode}`}`);
      return;
    }
    const end: UnitEnd = {
      launch,
      unit,
      aborted: aborted !== 0,
      exitCode,
      error: error === null ? null : { name: error.name, message: error.message, stack: error.stack ?? '' },
    };
    socket.send(jsonPacket(Packet.UnitEnded, end), [], true);
  }

  function tell(what: string): void {
    process.stderr.write(`onemem: device ${hello.name}: ${what}\n`);
  }
}
