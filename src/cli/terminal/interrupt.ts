/** Ctrl-C and its kin: what is unfinished is given up, and the command ends at once. */

import { writeSync } from 'node:fs';
import { SignalHandler } from '../../linux/processes/signals.js';

/** As shells report a process that a signal ended. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Until disposed of, these signals end the process, after a line that `describe` ends. Temporary
 * files and devices go with the process's exit. The second signal of a kind ends it in any case:
 * the main thread may wait for a page that does not come, or for a thread that does not end, and
 * then runs no listener.
 */
export function endOnSignals(describe: () => string): Disposable {
  const listeners = (Object.entries(EXIT_CODES) as [keyof typeof EXIT_CODES, number][]).map(
    ([signal, code]) => {
      let handler: SignalHandler | null = null;
      const listener = (): void => {
        // The terminal and npm may both send it: what is temporary is to go first. Afterwards only
        // threads are waited for.
        handler?.always();
        process.on('exit', () => handler?.once());
        try {
          // A bar may stand in the terminal's line.
          writeSync(
            2,
            `${process.stderr.isTTY ? '\r\x1b[K' : ''}onemem: interrupted by ${signal}; ${describe()}\n`,
          );
        } catch {
          // The terminal has gone, as after SIGHUP.
        }
        process.exit(code);
      };
      process.on(signal, listener);
      handler = new SignalHandler(signal);
      handler.once();
      return () => process.off(signal, listener);
    },
  );
  return {
    [Symbol.dispose]() {
      for (const remove of listeners) remove();
    },
  };
}
