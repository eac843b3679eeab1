/**
 * The thread that waits for files, so that the manager need not. Jobs come through a ring in shared
 * memory; an answer is written into the job's place and the manager's eventfd raised.
 */
import { fstatSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { spoiled } from '../../drivers/storage/disk.js';
import { EAGAIN, EINTR, EOPNOTSUPP, POLLIN, POLLOUT } from '../../linux/base/constants.js';
import { FAILING_CALLS, failCalls } from '../../linux/base/failing-calls.js';
import { errno, libc, setErrno } from '../../linux/base/libc.js';
import { moveWithoutWaiting } from '../../linux/files/file-io.js';
import { firstSpoiled, noteSums, openSpillFile } from '../../linux/files/spill-file.js';
import { punchHole } from '../../linux/memory/memory.js';
import { Poller } from '../../linux/sockets/poll.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import { Control } from '../protocol/control.js';
import { endStart } from '../protocol/starting.js';
import { JOB_WORDS, Job, type JobRing, Signal } from './io-ring.js';

const { numbers, signals, wakeFd, first, start, folder } = workerData as JobRing;
const failing = process.env[FAILING_CALLS];
if (failing !== undefined)
  failCalls(failing, 'io', new Int32Array(start.control), Control.FailingCalls);
parentPort?.on('message', () => process.exit(0));

const words = new Float64Array(numbers);
const signal = new Int32Array(signals);
const places = words.length / JOB_WORDS;
/** The kernel's: a pipe that is ready to be written takes so many bytes at once. */
const PIPE_BUF = 4096;
/** How soon it is seen that the thread is to end, while it waits for a pipe. */
const STOP_MS = 200;
/** Made for the first pipe that wants it. */
let poller: Poller | null = null;

/** Returns what the job's `done` is to get. */
function carryOut(at: number): number {
  const kind = words[at + Job.Kind];
  const fd = words[at + Job.Fd];
  const address = words[at + Job.Address];
  const length = words[at + Job.Length];
  const offset = words[at + Job.Offset];
  const sums = words[at + Job.Sums];
  switch (kind) {
    case Job.Sync:
      return libc.fdatasync(fd) < 0 ? -errno() : 0;
    case Job.Open:
      return openSpillFile(folder);
    case Job.Punch:
      return -punch(fd, offset, length);
    case Job.WriteSummed:
      noteSums(address, length, offset, sums);
      return move(Job.Write, at);
    case Job.ReadSummed: {
      const result = move(Job.Read, at);
      const wrong = result === length ? firstSpoiled(address, length, offset, sums) : -1;
      return wrong === -1 ? result : spoiled(wrong);
    }
    default:
      return move(kind, at);
  }
}

function punch(fd: number, offset: number, length: number): number {
  for (;;) {
    const failure = punchHole(fd, offset, length);
    if (failure !== EINTR) return failure;
  }
}

/** Moves all bytes of a job, in several calls. Returns bytes, or the negative error. */
function move(kind: number, at: number): number {
  const fd = words[at + Job.Fd];
  const address = words[at + Job.Address];
  const length = words[at + Job.Length];
  const offset = words[at + Job.Offset];
  const waits = offset < 0 && mayWait(fd);
  let done = 0;
  while (done < length) {
    const step = waits
      ? moveSome(kind, fd, address + done, length - done)
      : moveRest(kind, fd, address + done, length - done, offset < 0 ? offset : offset + done);
    if (step === 0) break;
    if (step > 0) done += step;
    else {
      const number = errno();
      if (number === EINTR) continue;
      if (number === EAGAIN) {
        waitFor(fd, kind === Job.Read ? POLLIN : POLLOUT);
        continue;
      }
      words[at + Job.Moved] = done;
      return -number;
    }
  }
  return done;
}

/** One call, by which files are read and written. */
function moveRest(
  kind: number,
  fd: number,
  address: number,
  length: number,
  offset: number,
): number {
  if (kind === Job.Read)
    return offset < 0 ? libc.read(fd, address, length) : libc.pread(fd, address, length, offset);
  return offset < 0 ? libc.write(fd, address, length) : libc.pwrite(fd, address, length, offset);
}

/** Whether it may have to wait for its other end: pipes, sockets, terminals. */
function mayWait(fd: number): boolean {
  try {
    const kind = fstatSync(fd);
    return !kind.isFile() && !kind.isBlockDevice();
  } catch {
    // The call says what is wrong.
    return false;
  }
}

/**
 * What can be moved now, by a call in which this thread does not wait: in one that waits it could
 * not be ended, with the space or the process. What comes back is as of read and write.
 */
function moveSome(kind: number, fd: number, address: number, length: number): number {
  const moved = moveWithoutWaiting(kind === Job.Read ? 'read' : 'write', fd, address, length);
  if (moved !== -EOPNOTSUPP) {
    if (moved < 0) setErrno(-moved);
    return Math.max(moved, -1);
  }
  waitFor(fd, kind === Job.Read ? POLLIN : POLLOUT);
  // A pipe that takes something takes so much.
  return kind === Job.Read
    ? libc.read(fd, address, length)
    : libc.write(fd, address, Math.min(length, PIPE_BUF));
}

/** Waits until a pipe or a socket has something, or takes something. */
function waitFor(fd: number, events: number): void {
  poller ??= new Poller(1);
  poller.set(0, fd, events);
  while (poller.wait(STOP_MS) === 0) endIfStopped();
}

function endIfStopped(): void {
  if (Atomics.load(signal, Signal.Stop) === 0) return;
  Atomics.store(signal, Signal.Busy, 0);
  tellManager();
  process.exit(0);
}

function tellManager(): void {
  try {
    notifyEventfd(wakeFd);
  } catch {
    // The manager looks for itself now and then.
  }
}

Atomics.store(signal, Signal.Up, 1);
endStart(start);
for (let next = first; ; next = (next + 1) | 0) {
  while (Atomics.load(signal, Signal.HandedIn) === next) {
    Atomics.wait(signal, Signal.HandedIn, next, 1000);
    endIfStopped();
  }
  const at = (next % places) * JOB_WORDS;
  // The manager says that it closes the engine before it looks whether this thread is at a job: one
  // of the two sees the other.
  Atomics.store(signal, Signal.Busy, 1);
  endIfStopped();
  words[at + Job.Result] = carryOut(at);
  Atomics.store(signal, Signal.Done, (next + 1) | 0);
  Atomics.store(signal, Signal.Busy, 0);
  tellManager();
}
