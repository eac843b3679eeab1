/**
 * Mutants are mistakes that the tests of a part must find. All of them are compiled into one copy
 * of the sources, each as a switch beside what it changes, so that one process plays one after the
 * other (mutant-switch.ts). The sources themselves know nothing of them.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export interface Mutant {
  /** What the mistake is, as something that one does: 'drop a dirty bit'. */
  readonly name: string;
  /** The source that it changes: 'src/core/movement/operation.ts'. */
  readonly file: string;
  /**
   * What stands there once: an expression, or statements with their last `;` or `}`. One that is
   * worked out when its module is loaded is worked out before any mutant is chosen: change what
   * uses it instead. Where lines break makes no difference.
   */
  readonly original: string;
  /**
   * For what stands in several places: text that stands once; the first place after it is meant.
   */
  readonly after?: string;
  /** What the program does instead: an expression, or statements, or nothing. */
  readonly instead: string;
  /** What it would do to a program. */
  readonly why?: string;
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const SWITCH = 'test/harness/mutant-switch.ts';
const REMEDY = 'adapt the mutant to the source, or remove it with what it was about';

/** A mutant that does not fit the source any more. */
function misfit({ name, file }: Mutant, what: string): Error {
  return new Error(`mutant '${name}' in ${file}: ${what}; ${REMEDY}`);
}

interface Place {
  readonly mutant: Mutant;
  readonly begin: number;
  readonly end: number;
}

/** Where each of these words after the other stands, whatever white space is between them. */
function matches(text: string, words: string): RegExpExecArray[] {
  const escaped = words
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return [...text.matchAll(new RegExp(escaped.join('\\s+'), 'g'))];
}

function placeOf(text: string, mutant: Mutant): Place {
  const { original, after } = mutant;
  const anchors = after === undefined ? [] : matches(text, after);
  if (after !== undefined && anchors.length !== 1)
    throw misfit(mutant, `\`${after}\` stands ${anchors.length} times there, and must stand once`);
  const from = anchors.length === 0 ? 0 : anchors[0].index + anchors[0][0].length;
  const found = matches(text, original).filter(({ index }) => index >= from);
  if (found.length === 0 || (after === undefined && found.length > 1))
    throw misfit(mutant, `\`${original}\` stands ${found.length} times there, and must stand once`);
  const [{ index: begin, 0: whole }] = found;
  return { mutant, begin, end: begin + whole.length };
}

/**
 * The source with a switch for each mutant; one that lies within what another one changes is within
 * what that one leaves as it is.
 */
function withSwitches(text: string, mutants: readonly Mutant[]): string {
  const places = mutants.map((mutant) => placeOf(text, mutant));
  places.sort((a, b) => a.begin - b.begin || b.end - a.end);
  const render = (begin: number, end: number): string => {
    let rendered = '';
    let at = begin;
    while (places.length > 0 && places[0].begin < end) {
      const place = places.shift() as Place;
      const { name, original, instead } = place.mutant;
      if (place.end > end)
        throw misfit(place.mutant, 'what it changes overlaps with what another mutant changes');
      const chosen = `mutant(${JSON.stringify(name)})`;
      const kept = render(place.begin, place.end);
      rendered += text.slice(at, place.begin);
      rendered += /[;}]$/.test(original.trim())
        ? `{ if (${chosen}) { ${instead} } else { ${kept} } }`
        : `(${chosen} ? (${instead}) : (${kept}))`;
      at = place.end;
    }
    return rendered + text.slice(at, end);
  };
  return render(0, text.length);
}

/** What the compiler says, in words of the mutant in whose place it is. */
function explain(folder: string, message: string): string {
  const [, file, line, column, what] = /^(\S+)\((\d+),(\d+)\): error (.*)$/.exec(message) ?? [];
  if (file === undefined) return message;
  const lines = readFileSync(join(folder, file), 'utf8').split('\n');
  const before = [
    ...lines.slice(0, Number(line) - 1),
    lines[Number(line) - 1].slice(0, Number(column)),
  ].join('\n');
  const name = [...before.matchAll(/mutant\(("(?:[^"\\]|\\.)*")\)/g)].at(-1)?.[1];
  if (name === undefined) return message;
  return `mutant ${name} does not compile in ${file}: ${what}; ${REMEDY}`;
}

/** The sources with all mutants, compiled: a folder until `remove` is called. */
export class MutantCode {
  private constructor(private readonly folder: string) {}

  /** @param entries what is to be compiled with all that it imports: 'test/simulation/world.ts' */
  static compile(mutants: readonly Mutant[], entries: readonly string[]): MutantCode {
    const code = new MutantCode(mkdtempSync(join(tmpdir(), 'onemem-mutants-')));
    try {
      code.write(mutants);
      code.compile([...entries, SWITCH]);
    } catch (error) {
      code.remove();
      throw error;
    }
    return code;
  }

  /** Where the compiled form of a source is, for `import` and threads. */
  url(source: string): URL {
    return pathToFileURL(join(this.folder, source.replace(/\.ts$/, '.js')));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  private write(mutants: readonly Mutant[]): void {
    for (const part of ['package.json', 'src', 'test'])
      cpSync(join(root, part), join(this.folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'));
    for (const file of new Set(mutants.map((mutant) => mutant.file))) {
      const own = mutants.filter((mutant) => mutant.file === file);
      const path = join(this.folder, file);
      const text = withSwitches(readFileSync(path, 'utf8'), own);
      writeFileSync(
        path,
        `import { mutant } from '${relative(dirname(file), SWITCH).replace(/\.ts$/, '.js')}';${text}`,
      );
    }
  }

  private compile(files: readonly string[]): void {
    const compilerOptions = { rootDir: '.', outDir: '.', sourceMap: false, noUnusedLocals: false };
    const project = join(this.folder, 'tsconfig.json');
    const all = { extends: join(root, 'tsconfig.test.json'), compilerOptions, include: [], files };
    writeFileSync(project, JSON.stringify(all));
    const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [compiler, '-p', project, '--pretty', 'false'],
      {
        cwd: this.folder,
        encoding: 'utf8',
      },
    );
    if (status === 0) return;
    const messages = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
    throw new Error(messages.map((message) => explain(this.folder, message)).join('\n'));
  }
}
