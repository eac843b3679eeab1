/**
 * The program of a device's process. The main thread maps the node's memory at the space's address,
 * registers it for faults, hands the descriptor over and starts the control thread; afterwards it
 * passes on what kernels print, and looks after the units: each is started with the first launch
 * that has work for it, and one that ends, whatever a kernel did, is reported and replaced. It must
 * not compute: a thread that waits in a fault does nothing else.
 */

import './told-binary.js';
import type { Worker } from 'node:worker_threads';
import {
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
  SOCK_STREAM,
} from '../../linux/base/constants.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../../linux/memory/managed-mapping.js';
import { mmap, view } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { nameDeviceProcess } from '../../linux/processes/orphans.js';
import { exitImmediately, setParentDeathSignal } from '../../linux/processes/process.js';
import { createSocketPair, descriptorsOf, MessageSocket } from '../../linux/sockets/socket.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import { RING_BYTES, ring } from './bell.js';
import { LaunchBoard } from './board.js';
import type { ControlData } from './control.js';
import {
  type Hello,
  jsonPacket,
  MAX_PACKET_BYTES,
  numberPacket,
  type Order,
  Packet,
  readJson,
  type UnitEnd,
} from './protocol.js';

const SOCKET = 3;
const SIGKILL = 9;
/** The control thread's place among the threads that the manager looks after; units follow it. */
const CONTROL = 0;
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

// The device ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the
// owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
nameDeviceProcess();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Node would wait for its threads, of which one waits for messages and others may wait in faults.
process.on('exit', (code) => exitImmediately(code));

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);
// An error of this thread ends the device, and the manager tells why.
process.on('uncaughtException', fail);
try {
  start();
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  try {
    socket.send(
      jsonPacket(Packet.Failed, error instanceof Error ? error.message : String(error)),
      [],
      true,
    );
  } catch {
    // The owner has gone meanwhile, and cannot be told.
  }
  process.exit(1);
}

function start(): void {
  // First of all, since it takes as long to start as everything else here does: it begins when it
  // is told what with. It prints nothing, so that what pipes and terminals take need not be loaded.
  const control = startOwnThread(new URL('./control.cjs', import.meta.url), {
    name: 'onemem control',
    stdout: true,
    stderr: true,
  });
  const message = socket.receive(true);
  if (message === null || message === 'closed') process.exit(1);
  const hello = readJson<Hello>(message.bytes);
  const [memory, hostMemory, boardFile] = descriptorsOf(message);
  mmap(hello.bytes, {
    address: hello.base,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
    fd: memory,
  });
  settleMapping(hello.base, hello.bytes);
  const faults = Userfaultfd.open({ features: FAULT_FEATURES });
  faults.register(hello.base, hello.bytes, FAULT_MODES);
  // Our own copy of the descriptor stays open: if the owner's went first, threads would go on with
  // unfilled pages.
  socket.send(numberPacket(Packet.Registered), [faults.fd], true);
  const boardBytes = LaunchBoard.bytesFor(hello.units);
  const boardAddress = mmap(boardBytes, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED,
    fd: boardFile,
  });
  closeDescriptor(boardFile);
  const board = new LaunchBoard(view(boardAddress, boardBytes), hello.units);
  /** What the control thread and each unit get. */
  const common = { base: hello.base, socket: SOCKET, board: boardAddress, units: hello.units };
  const units = new Map<number, Unit>();
  control.postMessage({ ...common, memory, hostMemory, faults: faults.fd } satisfies ControlData);
  control.once('message', (thread: number) => {
    up(CONTROL, thread);
    socket.send(numberPacket(Packet.Ready), [], true);
    control.on('message', (order: Order) => {
      if ('wake' in order) wakeUnit(order.wake);
      else abort(order.abort);
    });
  });
  control.on('error', (error) =>
    tell(`the control thread failed: ${error.stack ?? error.message}`),
  );
  // Without its control thread the device could not answer the manager any more.
  control.on('exit', () => process.exit(1));

  function up(place: number, thread: number, descriptors: readonly number[] = []): void {
    socket.send(numberPacket(Packet.Thread, place, thread), descriptors, true);
  }

  function wakeUnit(unit: number): void {
    const known = units.get(unit);
    if (known === undefined) startUnit(unit);
    else if (!ring(known.bell)) setTimeout(() => wakeUnit(unit), RING_AGAIN_MS);
  }

  function startUnit(unit: number): void {
    let state: Unit;
    try {
      // Of a kind that an event loop waits at.
      const [theirs, bell] = createSocketPair(SOCK_STREAM);
      const worker = startOwnThread(new URL('./unit.cjs', import.meta.url), {
        workerData: { ...common, unit, bell: theirs },
        name: `${hello.name} unit ${unit}`,
      });
      state = {
        worker,
        bell: new MessageSocket(bell, RING_BYTES),
        up: false,
        aborted: 0,
        error: null,
      };
    } catch (error) {
      failToStart(unit, (error as Error).message);
    }
    units.set(unit, state);
    const { worker, bell } = state;
    worker.once('message', (thread: number) => {
      state.up = true;
      up(unit + 1, thread, [bell.fd]);
    });
    worker.on('error', (error) => {
      state.error = error;
    });
    worker.on('exit', (code) => replace(unit, state, code));
  }

  function failToStart(unit: number, why: string): never {
    socket.send(jsonPacket(Packet.Failed, `unit ${unit} could not start: ${why}`), [], true);
    process.exit(1);
  }

  function abort(launch: number): void {
    for (let unit = 0; unit < hello.units; unit++) {
      if (!board.unit(unit).abort(launch)) continue;
      const state = units.get(unit);
      if (state === undefined) continue;
      state.aborted = launch;
      void state.worker.terminate();
    }
  }

  /** Another unit takes the place of one that has ended. */
  function replace(
    unit: number,
    { bell, up: wasUp, aborted, error }: Unit,
    exitCode: number,
  ): void {
    const assignment = board.unit(unit);
    const given = assignment.end();
    if (!wasUp) failToStart(unit, error?.message ?? `it ended with code ${exitCode}`);
    bell.close();
    up(unit + 1, 0);
    startUnit(unit);
    assignment.renew();
    const launch = aborted || given;
    if (launch === 0) {
      tell(
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
    socket.send(jsonPacket(Packet.UnitEnded, end), [], true);
    if (board.endPart(unit, launch)) socket.send(numberPacket(Packet.Launched, launch), [], true);
  }

  function tell(what: string): void {
    process.stderr.write(`onemem: device ${hello.name}: ${what}\n`);
  }
}
