/** Loaded before a program: writes the most memory that it had of its own, in MiB, into a file. */
import { readFileSync, writeFileSync } from 'node:fs';

let peak = 0;

function look(): void {
  const found = /RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'));
  peak = Math.max(peak, Number(found?.[1]) / 1024);
}

setInterval(look, 5).unref();
process.on('exit', () => {
  look();
  writeFileSync('peak', String(peak));
});
