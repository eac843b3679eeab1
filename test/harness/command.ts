/** The command as its users run it: a process of its own, with files in a folder of its own. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command as demo } from '../../src/cli/demo/demo.js';
import { command as doctor } from '../../src/cli/doctor/doctor.js';
import { command as explainRun } from '../../src/cli/history/explain.js';
import { command as replay } from '../../src/cli/history/replay.js';
import { command as view } from '../../src/cli/history/view.js';
import { run } from '../../src/cli/run/run.js';
import { command as rm } from '../../src/cli/spaces/rm.js';
import { serve } from '../../src/cli/spaces/serve.js';
import { CommandError, explain, UsageError } from '../../src/cli/terminal/failure.js';
import { type Dtype, npyHeader } from '../../src/files/npy.js';
import { filled } from './suite.js';

const COMMANDS = {
  run,
  demo: demo.main,
  doctor: doctor.main,
  replay: replay.main,
  view: view.main,
  serve,
  rm: rm.main,
  explain: explainRun.main,
};

const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
/** A command that is still there after so long hangs. */
const SECONDS = 60;
/** What a test may take that starts several. */
export const COMMANDS_SECONDS = 120;

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'onemem-cli-'));

  /**
   * @param env of the commands, beside that of this process
   * @param seconds after which one that is still there hangs
   */
  constructor(
    private readonly env: NodeJS.ProcessEnv = {},
    private readonly seconds = SECONDS,
  ) {}

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string | Uint8Array): string {
    writeFileSync(this.file(name), content);
    return this.file(name);
  }

  /** A `.npy` file with the elements. */
  npy(name: string, type: Dtype, elements: ArrayBufferView, shape: readonly number[]): Buffer {
    const bytes = Buffer.from(elements.buffer, elements.byteOffset, elements.byteLength);
    const content = Buffer.concat([npyHeader(type, shape), bytes]);
    this.write(name, content);
    return content;
  }

  read(name: string): Buffer {
    return readFileSync(this.file(name));
  }

  /** Unfinished results of runs. */
  get temporaries(): string[] {
    return readdirSync(this.path).filter((name) => name.endsWith('.onemem-tmp'));
  }

  start(...args: string[]): Running {
    return this.startFile(MAIN, ...args);
  }

  /** A program other than the command. */
  startFile(file: string, ...args: string[]): Running {
    return new Running(this.path, [file, ...args], this.env, this.seconds);
  }

  run(...args: string[]): Promise<Ended> {
    return this.start(...args).ended;
  }

  /** Runs the command, which must succeed. */
  async succeed(...args: string[]): Promise<Ended> {
    const ended = await this.run(...args);
    assert.equal(ended.code, 0, `onemem ${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
    return ended;
  }

  /**
   * Runs the command, which must fail with one line that matches. Returns what follows the line.
   */
  async fail(code: number, message: RegExp, ...args: string[]): Promise<string> {
    const ended = await this.run(...args);
    assert.equal(ended.code, code, `onemem ${args.join(' ')}: ${ended.stdout}${ended.stderr}`);
    const lines = ended.stderr.split('\n');
    const at = lines.findIndex((line) => line.startsWith('onemem: '));
    assert.match(lines[at] ?? '', message, ended.stderr);
    assert.ok(
      lines[at].length < 400,
      `a line of ${lines[at].length} characters is too long: ${lines[at]}`,
    );
    assert.deepEqual(this.temporaries, []);
    return lines.slice(at + 1).join('\n');
  }

  /**
   * The same in this process, which is cheaper by far: for what is refused before a space is
   * opened. Returns the stack that is shown.
   */
  async refuse(
    code: number,
    message: RegExp,
    command: keyof typeof COMMANDS,
    ...args: string[]
  ): Promise<string> {
    const before = process.cwd();
    process.chdir(this.path);
    try {
      await COMMANDS[command](args);
    } catch (error) {
      assert.equal(error instanceof UsageError ? 2 : 1, code, explain(error));
      assert.match(explain(error), message);
      assert.deepEqual(this.temporaries, []);
      return error instanceof CommandError ? error.trace.join('\n') : '';
    } finally {
      process.chdir(before);
    }
    assert.fail(`onemem ${command} ${args.join(' ')} was not refused`);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

class Running {
  readonly ended: Promise<Ended>;
  private readonly child: ChildProcess;
  private stderr = '';
  /** What it has written so far. */
  stdout = '';

  constructor(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv, seconds: number) {
    const child = spawn(process.execPath, [...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.child = child;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve, reject) => {
      const watchdog = setTimeout(() => {
        child.kill('SIGKILL');
        reject(
          new Error(
            `onemem ${args.join(' ')} did not end within ${seconds} s; it had written:\n${this.stdout}${this.stderr}`,
          ),
        );
      }, seconds * 1000);
      child.once('close', (code, signal) => {
        clearTimeout(watchdog);
        const { stdout, stderr } = this;
        resolve({ code, signal, stdout, stderr });
      });
    });
    // A test that kills it on purpose may not wait for it at once.
    this.ended.catch(() => undefined);
  }

  /** Where a test ends in the middle, its program does, too. */
  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** The first group of a text on standard error, when it has come. */
  async said(what: RegExp): Promise<string> {
    for (;;) {
      const [, found] = what.exec(`${this.stdout}\n${this.stderr}`) ?? [];
      if (found !== undefined) return found;
      assert.equal(this.child.exitCode, null, this.stderr);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** As a program at the other end of a pipe that has read enough. */
  closeOutput(): void {
    this.child.stdout?.destroy();
  }

  /** Processes that it started: its devices. */
  get children(): number[] {
    return readdirSync(`/proc/${this.pid}/task`).flatMap((thread) => {
      const list = readFileSync(`/proc/${this.pid}/task/${thread}/children`, 'latin1').trim();
      return list === '' ? [] : list.split(' ').map(Number);
    });
  }
}

export const SAXPY = `export default {
  params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },
  kernel({ x, y, alpha }, { begin, end }) {
    for (let i = begin; i < end; i++) y[i] += alpha * x[i];
  },
};
`;

/** As SAXPY, but it takes its time, and makes the file 'midway' once a part of y is written. */
export const SLOW_SAXPY = `import { writeFileSync } from 'node:fs';
export default {
  params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },
  kernel({ x, y, alpha }, { begin, end, size }) {
    for (let i = begin; i < end; i++) y[i] += alpha * x[i];
    if (begin * 4 > size) writeFileSync(new URL('./midway', import.meta.url), '');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  },
};
`;

export function ramp(length: number, from = 0): Float32Array {
  return filled(new Float32Array(length), (index) => from + (index % 1000));
}

export function saxpy(x: Float32Array, y: Float32Array, alpha: number): Float32Array {
  return filled(new Float32Array(y.length), (index) => y[index] + alpha * x[index]);
}
