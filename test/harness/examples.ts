/**
 * Programs of examples/, run as their readers run them, and once more with a mistake that they must
 * find by themselves.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The compiled examples. */
const FOLDER = fileURLToPath(new URL('../../examples', import.meta.url));
const SECONDS = 60;

export interface Example {
  /** What it is run with, where that is less than it does by itself. */
  readonly args?: readonly string[];
  /** All that it prints. */
  readonly output: RegExp;
  /** What stands in the program, and what is put there instead. */
  readonly mistake: readonly [string, string];
  /** What it says about the mistake. */
  readonly complaint: RegExp;
}

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(file: string, args: readonly string[] = []): Outcome {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file, ...args], {
    cwd: FOLDER,
    encoding: 'utf8',
    timeout: SECONDS * 1000,
  });
  assert.equal(
    signal,
    null,
    `ended by ${signal}, which it gets after ${SECONDS} s: ${stdout}${stderr}`,
  );
  return { status, stdout, stderr };
}

export function runsRight(name: string, { args, output }: Example): void {
  const { status, stdout, stderr } = run(`${name}.js`, args);
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  assert.match(stdout, output);
}

export function findsMistake(name: string, { mistake: [right, wrong], complaint }: Example): void {
  const program = readFileSync(`${FOLDER}/${name}.js`, 'utf8');
  assert.equal(program.split(right).length, 2, `'${right}' should stand in the program once`);
  const file = `${FOLDER}/${name}-mistaken.js`;
  writeFileSync(
    file,
    program.replace(right, () => wrong),
  );
  try {
    const { status, stderr } = run(file);
    assert.match(stderr, complaint);
    assert.equal(status, 1);
  } finally {
    rmSync(file);
  }
}
