/**
 * The thread that waits for files, so that the manager need not. Jobs come through a ring in shared memory; an answer is written
 * into the job's place and the manager's eventfd raised.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { EINTR } from '../linux/constants.js';
import { notifyEventfd } from '../linux/eventfd.js';
import { errno, libc } from '../linux/libc.js';
import { JOB_WORDS, Job, type JobRing } from './io-ring.js';

const { numbers, signals, wakeFd } = workerData as JobRing & { wakeFd: number };
parentPort?.on('message', () => process.exit(0));

const words = new Float64Array(numbers);
const signal = new Int32Array(signals);
const places = words.length / JOB_WORDS;

/** Moves all bytes of a job, in as many calls as it takes. Returns bytes done, or the negative error number. */
function carryOut(at: number): number {
  const kind = words[at + Job.Kind];
  const fd = words[at + Job.Fd];
  const address = words[at + Job.Address];
  const length = words[at + Job.Length];
  const offset = words[at + Job.Offset];
  if (kind === Job.Sync) return libc.fdatasync(fd) < 0 ? -errno() : 0;
  let done = 0;
  while (done < length) {
    let step: number;
    if (kind === Job.Read) {
      step =
        offset < 0
          ? libc.read(fd, address + done, length - done)
          : libc.pread(fd, address + done, length - done, offset + done);
    } else {
      step =
        offset < 0
          ? libc.write(fd, address + done, length - done)
          : libc.pwrite(fd, address + done, length - done, offset + done);
    }
    if (step === 0) break;
    if (step > 0) done += step;
    else if (errno() !== EINTR) return -errno();
  }
  return done;
}

for (let next = 0; ; next++) {
  while (Atomics.load(signal, 0) === next) {
    Atomics.wait(signal, 0, next, 1000);
    if (Atomics.load(signal, 2) === 1) process.exit(0);
  }
  const at = (next % places) * JOB_WORDS;
  words[at + Job.Result] = carryOut(at);
  Atomics.store(signal, 1, next + 1);
  notifyEventfd(wakeFd);
}
