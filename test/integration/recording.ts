/** Runs of the memory manager that are written down, and played again. */
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { longTest, runTests, test } from '../harness/suite.js';

const folder = mkdtempSync(join(tmpdir(), 'onemem-recording-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const program = fileURLToPath(new URL('./programs/recorded.js', import.meta.url));
const path = join(folder, 'recording');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      args,
      { env: { ...process.env, ...env }, timeout: 60_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

function replay(file: string, ...options: string[]): Promise<Ended> {
  return run([command, 'replay', file, ...options]);
}

longTest(
  'what a space did with all kinds of calls is played again, command by command, and so is a second space',
  async () => {
    const { code, stderr } = await run([program, folder], { ONEMEM_RECORD: path });
    assert.equal(code, 0, stderr);
    for (const file of [path, `${path}.2`]) {
      const played = await replay(file, '--json');
      assert.equal(played.code, 0, played.stderr);
      const { events, commands, kinds } = JSON.parse(played.stdout);
      assert.ok(events > 50 && commands > 50, played.stdout);
      for (const kind of [
        'fault',
        'copyOnWrite',
        'launchBegin',
        'watch',
        'processorLost',
        'grow',
        'protect',
      ])
        assert.ok(kinds[kind] > 0, kind);
    }
  },
);

longTest('a recording that was changed is told by its line', async () => {
  const lines = readFileSync(path, 'utf8').split('\n');
  const at = lines.findIndex((line) => line.startsWith('[">","map"'));
  const changed = join(folder, 'changed');
  writeFileSync(
    changed,
    lines
      .with(
        at,
        lines[at].replace(/\d+/, (page) => `${Number(page) + 1}`),
      )
      .join('\n'),
  );
  const { code, stderr } = await replay(changed);
  assert.equal(code, 1);
  assert.match(
    stderr,
    new RegExp(
      `^onemem: .*changed, line ${at + 1}: entry \\d+, while \\[.* was handled: the core commands \\["map"`,
    ),
  );
});

longTest('a recording that was cut off, as by a kill, is played as far as it goes', async () => {
  const text = readFileSync(path, 'utf8');
  const cut = join(folder, 'cut');
  const command = text.indexOf('\n[">"', text.length / 2);
  for (const end of [
    text.indexOf('\n["!"', text.length / 3) + 4,
    command + 1,
    command + 4,
    text.lastIndexOf('["."]'),
  ]) {
    writeFileSync(cut, text.slice(0, end));
    const { code, stdout, stderr } = await replay(cut);
    assert.equal(code, 0, stderr);
    const [, line] =
      /^\d+ events .* the same as recorded, as far as that goes\nThe recording is incomplete: .* up to line (\d+),/.exec(
        stdout,
      ) ?? [stdout];
    const lines = text.slice(0, end).split('\n');
    const next = lines.slice(Number(line)).find((each) => !each.startsWith('["@"'));
    assert.match(next ?? '', /^\["!"/);
    assert.ok(
      !lines.slice(Number(line) + 2, -1).some((each) => each.startsWith('["!"')),
      `played to line ${line} only`,
    );
  }
});

longTest(
  'a recording that can be written no more ends with one warning, and the program goes on',
  async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    // What reads it goes after the first line.
    spawn('head', ['-n', '1', pipe], { stdio: 'ignore' });
    const { code, stderr } = await run([program, folder], { ONEMEM_RECORD: pipe });
    assert.equal(code, 0, stderr);
    assert.match(
      stderr,
      /^onemem: warning: the recording in .*\/pipe \(ONEMEM_RECORD\) ends here, .*: EPIPE.*\n$/,
    );
  },
);

longTest('a space is refused where nothing can be recorded', async () => {
  for (const [file, why] of [
    [join(folder, 'none', 'x'), 'ENOENT'],
    ['/dev/full', 'ENOSPC'],
  ]) {
    const { code, stderr } = await run([program, folder], { ONEMEM_RECORD: file });
    assert.notEqual(code, 0);
    assert.match(
      stderr,
      new RegExp(`cannot record in ${file} \\(ONEMEM_RECORD\\): ${why}.*; name a file in a folder`),
    );
    assert.match(stderr, /code: 'RECORDING'/);
  }
});

test('what is no recording is refused, and so is a folder', async () => {
  const { code, stderr } = await replay(program);
  assert.equal(code, 1);
  assert.match(stderr, /recorded\.js is no recording; make one by ONEMEM_RECORD=/);
  const ofFolder = await replay(folder);
  assert.equal(ofFolder.code, 1);
  assert.equal(
    ofFolder.stderr,
    `onemem: ${folder}: it is a folder; name a file; a recording is a file that a program with ONEMEM_RECORD=FILE made\n`,
  );
});

await runTests();
