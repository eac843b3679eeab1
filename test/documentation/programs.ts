/** Programs of pages and of doc comments, run one after the other in this process. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { format, promisify } from 'node:util';
import { ROOT } from './pages.js';

/** The compiled tree, which bears the package's name. */
const TREE = fileURLToPath(new URL('../..', import.meta.url));

/** Other packages that programs of pages import. */
const PACKAGES = [
  '@ip-location-db',
  'apache-arrow',
  'fzstd',
  'hyparquet',
  'mmdb-lib',
  'piscina',
  'prom-client',
  'usearch',
  'vega-datasets',
];

/** A folder in which programs find the package, and the files of their page. */
export class ProgramFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'onemem-documentation-'));
  private readonly before = process.cwd();
  private programs = 0;

  constructor() {
    const own = join(this.path, 'node_modules/onemem');
    mkdirSync(own, { recursive: true });
    for (const name of readdirSync(TREE)) symlinkSync(join(TREE, name), join(own, name));
    symlinkSync(join(ROOT, 'python'), join(own, 'python'));
    for (const name of PACKAGES)
      symlinkSync(join(ROOT, 'node_modules', name), join(this.path, 'node_modules', name));
    this.write('package.json', '{ "type": "module" }\n');
    process.chdir(this.path);
  }

  write(name: string, content: string): void {
    writeFileSync(join(this.path, name), content);
  }

  /** Runs a program, which must print what its comments say. */
  async run(program: string): Promise<void> {
    const file = join(this.path, `program-${this.programs++}.mjs`);
    writeFileSync(file, program);
    const printed: string[] = [];
    const { log } = console;
    console.log = (...values: unknown[]) => void printed.push(format(...values));
    try {
      await import(pathToFileURL(file).href);
    } finally {
      console.log = log;
    }
    assert.equal(printed.join('\n'), expectedOutput(program).join('\n'));
  }

  /** Runs a program of the folder in a process of its own. */
  async runAlone(name: string, program: string, options: readonly string[] = []): Promise<void> {
    const args = [...options, join(this.path, name)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    assert.equal(stdout, `${expectedOutput(program).join('\n')}\n`);
  }

  [Symbol.dispose](): void {
    process.chdir(this.before);
    rmSync(this.path, { recursive: true });
  }
}

/** The comments behind calls of console.log. */
function expectedOutput(program: string): string[] {
  const lines = [...program.matchAll(/^.*console\.log\(.*\);(.*)$/gm)].map(([line, rest]) => {
    const [, comment] = /^\s*\/\/ (.+)$/.exec(rest) ?? [];
    assert.ok(comment !== undefined, `the program does not say what this line prints: ${line}`);
    return comment.trim();
  });
  assert.ok(
    lines.length > 0,
    'the program prints nothing, so that nobody can tell whether it works',
  );
  return lines;
}
