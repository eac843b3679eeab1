/** Ctrl-C and its kin: what is unfinished is given up, and the command ends at once. */

import { writeSync } from 'node:fs';

/** As shells report a process that a signal ended. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Until disposed of, these signals end the process, after a line that `describe` ends. Temporary files and devices go with the
 * process's exit.
 */
export function endOnSignals(describe: () => string): Disposable {
  const listeners = Object.entries(EXIT_CODES).map(([signal, code]) => {
    const listener = (): void => {
      try {
        // A bar may stand in the terminal's line.
        writeSync(2, `${process.stderr.isTTY ? '\r\x1b[K' : ''}onemem: interrupted by ${signal}; ${describe()}\n`);
      } catch {
        // The terminal has gone, as after SIGHUP.
      }
      process.exit(code);
    };
    process.on(signal, listener);
    return () => process.off(signal, listener);
  });
  return {
    [Symbol.dispose]() {
      for (const remove of listeners) remove();
    },
  };
}
