#!/usr/bin/env node
/**
 * The `onemem` command. Ends with 0 when all went well, 1 when something failed, 2 when the command
 * line was wrong.
 */

import { readFileSync } from 'node:fs';
import { needNoSystemCalls } from '../api/opening/user-mode.js';
import { DEMO_HELP, DEMO_SUMMARY, demo } from './demo/demo.js';
import { DEMO_PACKAGES } from './demo/demo-data.js';
import { BANDWIDTH_HELP, BANDWIDTH_SUMMARY, bandwidth } from './doctor/bandwidth.js';
import { DOCTOR_HELP, DOCTOR_SUMMARY, doctor } from './doctor/doctor.js';
import { GPU_HELP, GPU_SUMMARY, gpu } from './doctor/software-gpu.js';
import { EXPLAIN_HELP, EXPLAIN_SUMMARY, explainRun } from './history/explain.js';
import { REPLAY_HELP, REPLAY_SUMMARY, replay } from './history/replay.js';
import { VIEW_HELP, VIEW_SUMMARY, view } from './history/view.js';
import { RUN_HELP, RUN_SUMMARY, run } from './run/run.js';
import { LS_HELP, LS_SUMMARY, ls } from './spaces/ls.js';
import { RM_HELP, RM_SUMMARY, rm } from './spaces/rm.js';
import { SERVE_HELP, SERVE_SUMMARY, serve } from './spaces/serve.js';
import { TOP_HELP, TOP_SUMMARY, top } from './spaces/top.js';
import { CommandError, codeOf, explain, UsageError } from './terminal/failure.js';
import { keepStandardOutput, print } from './terminal/output.js';

interface Command {
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. */
  readonly main: (args: readonly string[]) => Promise<number> | number;
}

const COMMANDS: Readonly<Record<string, Command>> = {
  run: { summary: RUN_SUMMARY, help: RUN_HELP, main: run },
  demo: { summary: DEMO_SUMMARY, help: DEMO_HELP, main: demo },
  explain: { summary: EXPLAIN_SUMMARY, help: EXPLAIN_HELP, main: explainRun },
  view: { summary: VIEW_SUMMARY, help: VIEW_HELP, main: view },
  replay: { summary: REPLAY_SUMMARY, help: REPLAY_HELP, main: replay },
  doctor: { summary: DOCTOR_SUMMARY, help: DOCTOR_HELP, main: doctor },
  bandwidth: { summary: BANDWIDTH_SUMMARY, help: BANDWIDTH_HELP, main: bandwidth },
  serve: { summary: SERVE_SUMMARY, help: SERVE_HELP, main: serve },
  rm: { summary: RM_SUMMARY, help: RM_HELP, main: rm },
  ls: { summary: LS_SUMMARY, help: LS_HELP, main: ls },
  top: { summary: TOP_SUMMARY, help: TOP_HELP, main: top },
  gpu: { summary: GPU_SUMMARY, help: GPU_HELP, main: gpu },
};

const HELP = `onemem: one address space for the CPU, devices, storage and other machines

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  onemem ${name.padEnd(9)} ${summary}`)
  .join('\n')}

  onemem COMMAND --help shows its options; onemem --version shows the version.
  Outside of a clone the demo needs: ${DEMO_PACKAGES}

Examples
  onemem demo
  onemem run saxpy.js --in x=x.npy --inout y=y.npy --set alpha=3 --device-memory 64MiB
  onemem doctor`;

async function main(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === '--version' || name === '-v') {
    print(version());
    return;
  }
  const asked = name === 'help' ? rest[0] : name;
  if (asked === undefined || asked === '--help' || asked === '-h') {
    print(HELP);
    return;
  }
  if (!Object.hasOwn(COMMANDS, asked)) {
    const what = asked.startsWith('-') ? 'option' : 'command';
    throw new UsageError(
      `there is no ${what} '${asked}'; commands are ${Object.keys(COMMANDS).join(', ')}, see: onemem --help`,
    );
  }
  const command = COMMANDS[asked];
  // What stands after -- belongs to the command, whatever it looks like.
  const options = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest;
  if (name === 'help' || options.includes('--help') || options.includes('-h')) print(command.help);
  else process.exitCode = await command.main(rest);
}

function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/**
 * One line on standard error, with what the user needs below; for programs that asked for JSON an
 * object, too.
 */
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
