#!/usr/bin/env node
/** The `onemem` command. Ends with 0: all went well; 1: something failed; 2: wrong arguments. */

import { readFileSync } from 'node:fs';
import { needNoSystemCalls } from '../api/opening/user-mode.js';
import type { Command } from './terminal/command.js';
import { CommandError, codeOf, explain, UsageError } from './terminal/failure.js';
import { keepStandardOutput, print } from './terminal/output.js';

/** Each is loaded when it is asked for: to load all takes longer than most of them do. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly command: Command }>>> = {
  run: () => import('./run/run.js'),
  demo: () => import('./demo/demo.js'),
  explain: () => import('./history/explain.js'),
  view: () => import('./history/view.js'),
  replay: () => import('./history/replay.js'),
  doctor: () => import('./doctor/doctor.js'),
  bandwidth: () => import('./doctor/bandwidth.js'),
  serve: () => import('./spaces/serve.js'),
  rm: () => import('./spaces/rm.js'),
  ls: () => import('./spaces/ls.js'),
  top: () => import('./spaces/top.js'),
  gpu: () => import('./doctor/software-gpu.js'),
};

async function help(): Promise<string> {
  const { DEMO_PACKAGES } = await import('./demo/demo-data.js');
  const lines = Object.entries(COMMANDS).map(async ([name, load]) => {
    const { command } = await load();
    return `  onemem ${name.padEnd(9)} ${command.summary}`;
  });
  return `onemem: one address space for the CPU, devices, storage and other machines

${(await Promise.all(lines)).join('\n')}

  onemem COMMAND --help shows its options; onemem --version shows the version.
  Outside of a clone the demo needs: ${DEMO_PACKAGES}

Examples
  onemem demo
  onemem run saxpy.js --in x=x.npy --inout y=y.npy --set alpha=3 --device-memory 64MiB
  onemem doctor`;
}

async function main(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    print(version());
    return;
  }
  const asked = name === 'help' ? rest[0] : name;
  if (asked === undefined || asked === '--help' || asked === '-h') {
    print(await help());
    return;
  }
  if (!Object.hasOwn(COMMANDS, asked)) {
    const what = asked.startsWith('-') ? 'option' : 'command';
    throw new UsageError(
      `there is no ${what} '${asked}'; commands are ${Object.keys(COMMANDS).join(', ')}, see: onemem --help`,
    );
  }
  const { command } = await COMMANDS[asked]();
  // What stands after -- belongs to the command, whatever it looks like.
  const options = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (name === 'help' || options.includes('--help') || options.includes('-h')) print(command.help);
  else process.exitCode = await command.main(rest);
}

function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** One line on standard error, more below it; for programs that asked for JSON an object, too. */
function report(error: unknown): void {
  const message = explain(error);
  console.error(`onemem: ${message}`);
  if (error instanceof CommandError) for (const line of error.trace) console.error(line);
  if (process.argv.includes('--debug')) {
    for (let each = error; each instanceof Error; each = each.cause) console.error(each.stack);
  }
  if (process.argv.includes('--json'))
    print(JSON.stringify({ error: { code: codeOf(error), message } }));
  process.exitCode = error instanceof UsageError ? 2 : 1;
}

// The program that reads our output may stop reading, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? 0);
  throw error;
});

needNoSystemCalls();
keepStandardOutput();
await main(process.argv.slice(2)).catch(report);
