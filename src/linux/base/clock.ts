/** The clock of all threads and the kernel: each thread has a `performance.now` of its own. */

export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
