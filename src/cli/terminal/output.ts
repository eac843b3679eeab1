/**
 * Standard output is the command's own: a program that reads it gets what the command says, and not
 * what a kernel prints.
 */

const write = process.stdout.write.bind(process.stdout);

/**
 * Sends everything else that this process prints to standard error, as the processes of devices do.
 */
export function keepStandardOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** For people, beside what the command says. */
export function say(text: string): void {
  process.stderr.write(`onemem: ${text}\n`);
}

export function warn(text: string): void {
  say(`warning: ${text}`);
}

export function print(text: string, end = '\n'): void {
  write(`${text}${end}`);
}
