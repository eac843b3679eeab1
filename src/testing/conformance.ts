/**
 * The command: runs the scenarios on kinds of devices, each kind in a process of its own. A
 * scenario that hangs (its thread may sit in a page fault, where nothing else can reach it) or
 * takes its process along fails by its name, and the others go on in a new process.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { DeviceKind } from './device-kind.js';
import { runScenario, warmUp } from './run.js';
import { scenarios } from './scenarios/index.js';
import type { Result, Scenario } from './suite.js';

const LIMIT_SECONDS = 120;
/** Where a child reports; its own output may be anything. */
const REPORTS = 3;
const SHOWN_ERRORS = 2000;

const options = {
  device: { type: 'string', multiple: true },
  scenario: { type: 'string', multiple: true },
  except: { type: 'string', multiple: true },
  seconds: { type: 'string' },
  json: { type: 'boolean' },
  list: { type: 'boolean' },
  table: { type: 'boolean' },
  help: { type: 'boolean' },
  run: { type: 'boolean' },
} as const;

type Report =
  | { readonly started: string }
  | { readonly note: string }
  | { readonly result: Result };

/**
 * Runs the scenarios on kinds of devices, as a command: prints a line each, and sets the exit code.
 * The guide of drivers has a program that calls it.
 * @param entry the URL of the module that calls this: it is started again for each kind
 * @param kinds the kinds of devices to test
 */
export async function conformance(entry: string, kinds: readonly DeviceKind[]): Promise<void> {
  const wanted = parseArguments(kinds);
  if (wanted.run) {
    await runHere(wanted.kinds[0], wanted.scenarios);
    return;
  }
  const results: Result[] = [];
  // Where programs read the lines, only results are among them.
  const note = (text: string): void =>
    wanted.json ? console.error(text) : console.log(`  ${text}`);
  for (const kind of wanted.kinds) {
    for await (const result of runKind(entry, kind, wanted.scenarios, wanted.seconds, note)) {
      results.push(result);
      console.log(wanted.json ? JSON.stringify(result) : line(result));
    }
  }
  if (wanted.table) console.log(table(results));
  const count = (outcome: Result['result']): number =>
    results.filter(({ result }) => result === outcome).length;
  const skipped = count('skip') > 0 ? `, ${count('skip')} skipped` : '';
  console.log(`${count('pass')} passed, ${count('fail')} failed${skipped}`);
  process.exitCode = count('fail') > 0 || results.length === 0 ? 1 : 0;
}

function parseArguments(kinds: readonly DeviceKind[]) {
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
  try {
    values = parseArgs({ options }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
  if (values.help === true) {
    console.log(
      'conformance [--device KIND]... [--scenario NAME]... [--except NAME]... [--seconds LIMIT] [--json] [--list] [--table]\n' +
        `  kinds: ${kinds.map(({ name }) => name).join(', ')}\n  --seconds: how long a scenario may take, ${LIMIT_SECONDS} unless said otherwise\n  --table: at the end all results as a table in Markdown`,
    );
    process.exit(0);
  }
  const chosen = pick('kind of device', kinds, values.device).filter(
    ({ onlyByName }) => values.device !== undefined || onlyByName !== true,
  );
  const left = pick('scenario', scenarios, values.except ?? []);
  const chosenScenarios = pick('scenario', scenarios, values.scenario).filter(
    (scenario) => !left.includes(scenario),
  );
  if (values.list === true) {
    for (const { name, holds } of chosenScenarios) console.log(`${name.padEnd(26)} ${holds}`);
    process.exit(0);
  }
  const seconds = Number(values.seconds ?? LIMIT_SECONDS);
  if (!(seconds > 0)) refuse(`--seconds is ${values.seconds}; it must be a number above 0`);
  return {
    kinds: chosen,
    scenarios: chosenScenarios,
    seconds,
    json: values.json === true,
    table: values.table === true,
    run: values.run === true,
  };
}

function pick<T extends { readonly name: string }>(
  what: string,
  all: readonly T[],
  names: readonly string[] | undefined,
): readonly T[] {
  for (const name of names ?? []) {
    if (!all.some((each) => each.name === name)) {
      refuse(
        `there is no ${what} '${name}'; there are: ${all.map((each) => each.name).join(', ')}`,
      );
    }
  }
  return names === undefined ? all : all.filter(({ name }) => names.includes(name));
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

function line({ scenario, device, result, why }: Result): string {
  const outcome = result === 'fail' ? 'FAIL' : result;
  return `${scenario.padEnd(26)} ${device.padEnd(14)} ${outcome}${why === '' ? '' : `  ${why}`}`;
}

/** Scenarios by kinds, with the reasons of those that were skipped. */
function table(results: readonly Result[]): string {
  const devices = [...new Set(results.map(({ device }) => device))];
  const names = [...new Set(results.map(({ scenario }) => scenario))];
  const why = [
    ...new Set(results.filter(({ result }) => result === 'skip').map((each) => each.why)),
  ];
  const cell = (name: string, kind: string): string => {
    const found = results.find(({ scenario, device }) => scenario === name && device === kind);
    if (found === undefined) return '';
    return found.result === 'skip' ? `skip (${why.indexOf(found.why) + 1})` : found.result;
  };
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    row(['scenario', ...devices]),
    row(['---', ...devices.map(() => '---')]),
    ...names.map((name) => row([`\`${name}\``, ...devices.map((kind) => cell(name, kind))])),
    '',
    ...why.map((reason, index) => `${index + 1}. ${reason}`),
  ].join('\n');
}

/** In a child: reports are written at once, so that they are out before anything can go wrong. */
async function runHere(kind: DeviceKind, wanted: readonly Scenario[]): Promise<void> {
  const report = (what: Report): void => {
    writeSync(REPORTS, `${JSON.stringify(what)}\n`);
  };
  await warmUp(kind);
  for (const scenario of wanted) {
    report({ started: scenario.name });
    report({ result: await runScenario(kind, scenario, (note) => report({ note })) });
  }
}

/** Runs scenarios on one kind of device, in as many processes as it takes. */
async function* runKind(
  entry: string,
  kind: DeviceKind,
  wanted: readonly Scenario[],
  seconds: number,
  note: (text: string) => void,
): AsyncGenerator<Result> {
  let rest = wanted.map(({ name }) => name);
  while (rest.length > 0) {
    const child = new Child(entry, kind.name, rest, seconds, note);
    for await (const result of child.results()) {
      rest = rest.slice(1);
      yield result;
    }
    if (rest.length === 0) return;
    const why = await child.ended;
    yield { scenario: rest[0], device: kind.name, result: 'fail', why };
    rest = rest.slice(1);
  }
}

class Child {
  /** Why it ended before all of its scenarios had. */
  readonly ended: Promise<string>;
  private readonly reports: Readable;
  private timer: NodeJS.Timeout | undefined;
  private timedOut = false;
  private readonly kill: () => void;

  constructor(
    entry: string,
    kind: string,
    names: readonly string[],
    private readonly seconds: number,
    private readonly note: (text: string) => void,
  ) {
    const args = ['--run', '--device', kind, ...names.flatMap((name) => ['--scenario', name])];
    const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(entry), ...args], {
      stdio: ['ignore', 'inherit', 'pipe', 'pipe'],
    });
    this.reports = child.stdio[REPORTS] as Readable;
    this.kill = () => child.kill('SIGKILL');
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      errors = (errors + text).slice(-SHOWN_ERRORS);
    });
    this.ended = new Promise((resolve) => {
      child.on('error', (error) => resolve(error.message));
      child.on('close', (code, signal) => {
        clearTimeout(this.timer);
        const how = signal === null ? `with code ${code}` : `by ${signal}`;
        const end = this.timedOut
          ? `still running after ${this.seconds} s`
          : `its process ended ${how}`;
        resolve(
          [end, ...errors.trim().split('\n').slice(-3)].filter((each) => each !== '').join(': '),
        );
      });
    });
    this.watch();
  }

  async *results(): AsyncGenerator<Result> {
    for await (const text of createInterface({ input: this.reports })) {
      const report = JSON.parse(text) as Report;
      this.watch();
      if ('result' in report) yield report.result;
      else if ('note' in report) this.note(report.note);
    }
  }

  private watch(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timedOut = true;
      this.kill();
    }, this.seconds * 1000);
  }
}
