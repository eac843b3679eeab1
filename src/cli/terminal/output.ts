/** Keeps standard output for what the command says; what kernels print goes elsewhere. */

const write = process.stdout.write.bind(process.stdout);

/** Sends all else that this process prints to standard error, as processes of devices do. */
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
