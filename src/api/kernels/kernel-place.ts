/**
 * Where a kernel was defined and launched: its device knows only its text. All that a launch pays
 * is the capture of a stack; the stack is made readable only when the kernel fails.
 */

import { readFileSync } from 'node:fs';
import { createRequire, findSourceMap } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runInThisContext } from 'node:vm';
import { ownFile } from '../../linux/own-files.js';

/** A place in a file that a person can open; lines and columns count from 1. */
interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A stack that is put into words when the program asks. */
export interface Trace {
  readonly stack?: string;
}

type Body = (...args: never[]) => unknown;

/** What a kernel that has no name is called in errors and reports. */
export const UNNAMED = '(anonymous)';

/** The stack of a caller: what lies above `hidden`. */
export function traceTo(hidden: (...args: never[]) => unknown): Trace {
  const trace: Trace = {};
  Error.captureStackTrace(trace, hidden);
  return trace;
}

const definitions = new WeakMap<object, { readonly shown: Trace; readonly raw: Trace }>();

/** Notes that a function became a kernel here, by a call of our function `hidden`. */
export function noteDefinition(body: object, hidden: (...args: never[]) => unknown): void {
  definitions.set(body, { shown: traceTo(hidden), raw: traceTo(hidden) });
}

const FRAME = /^\s+at (?:.*\()?((?:file:\/\/)?\/.*?):(\d+):(\d+)\)?$/;

function placeOf(frame: string | undefined): Place | null {
  const [, file, line, column] = FRAME.exec(frame ?? '') ?? [];
  if (file === undefined) return null;
  return {
    file: file.startsWith('file:') ? fileURLToPath(file) : file,
    line: Number(line),
    column: Number(column),
  };
}

function framesOf(stack: string | undefined): string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

/** Where the function became a kernel, as the tool that runs the program shows it. */
function definedAt(body: object): Place | null {
  return placeOf(framesOf(definitions.get(body)?.shown.stack)[0]);
}

/** The variable or property that a call of kernel() is assigned to; null: there is none. */
export function assignedName(body: object): string | null {
  const place = definedAt(body);
  if (place === null) return null;
  try {
    const lines = readFileSync(place.file, 'utf8').split('\n').slice(0, place.line);
    lines[lines.length - 1] = lines[lines.length - 1].slice(0, place.column - 1);
    const before = lines.slice(-3).join('\n');
    const [, name] =
      /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?::[^=;,(){}\n]*)?[=:]\s*(?:[\w$]+\.)*$/u.exec(
        before,
      ) ?? [];
    return name ?? null;
  } catch {
    return null;
  }
}

/** The script in which a kernel was defined, by the name that the engine knows it by. */
function scriptOf(body: Body): string | null {
  const trace = definitions.get(body)?.raw;
  const prepare = Error.prepareStackTrace;
  try {
    Error.prepareStackTrace = (_error, sites) => sites;
    const sites = trace?.stack as unknown as NodeJS.CallSite[] | undefined;
    return sites?.[0]?.getFileName?.() ?? null;
  } catch {
    return null;
  } finally {
    Error.prepareStackTrace = prepare;
  }
}

const KEY = '__onemem_kernel';

/** Where a function begins in its script, from 0: the engine's inspector knows. */
function startOf(body: Body): { line: number; column: number } | null {
  const globals = runInThisContext('globalThis') as Record<string, unknown>;
  try {
    const { Session } = createRequire(import.meta.url)(
      'node:inspector',
    ) as typeof import('node:inspector');
    const session = new Session();
    session.connect();
    globals[KEY] = body;
    try {
      let start: { line: number; column: number } | null = null;
      session.post('Runtime.evaluate', { expression: `globalThis.${KEY}` }, (_error, found) => {
        const { objectId } = found.result;
        if (objectId === undefined) return;
        session.post(
          'Runtime.getProperties',
          { objectId, ownProperties: true },
          (_failure, { internalProperties }) => {
            const location = internalProperties?.find(({ name }) => name === '[[FunctionLocation]]')
              ?.value?.value;
            if (location !== undefined)
              start = { line: location.lineNumber, column: location.columnNumber };
          },
        );
      });
      return start;
    } finally {
      session.disconnect();
    }
  } catch {
    // This Node.js has no inspector.
    return null;
  } finally {
    delete globals[KEY];
  }
}

/** How places in a kernel's text become the author's; null when that is not sure. */
function mapperOf(body: Body): ((line: number, column: number) => Place | null) | null {
  const script = scriptOf(body);
  const start = startOf(body);
  if (script === null || start === null) return null;
  const file = script.startsWith('file:') ? fileURLToPath(script) : script;
  const map =
    findSourceMap(script) ?? findSourceMap(file) ?? findSourceMap(pathToFileURL(file).href);
  if (map === undefined && !beginsThere(body, file, start)) return null;
  return (line, column) => {
    // The function's text begins in the middle of its first line.
    const at = {
      line: start.line + line - 1,
      column: line === 1 ? start.column + column - 1 : column - 1,
    };
    if (map === undefined) return { file, line: at.line + 1, column: at.column + 1 };
    const entry = map.findEntry(at.line, at.column);
    if (!('originalSource' in entry)) return null;
    const { originalSource, originalLine, originalColumn } = entry;
    const original = originalSource.startsWith('file:')
      ? fileURLToPath(originalSource)
      : originalSource;
    return {
      file: original.startsWith('/') ? original : file,
      line: originalLine + 1,
      column: originalColumn + 1,
    };
  };
}

/** Whether the file has the function where the engine has it: tools may have changed it. */
function beginsThere(body: Body, file: string, start: { line: number; column: number }): boolean {
  try {
    const text = readFileSync(file, 'utf8').split('\n')[start.line]?.slice(start.column) ?? '';
    // Types that were blanked out leave the beginning and the length.
    const [first] = Function.prototype.toString.call(body).split('\n');
    return text.length >= first.length && text.slice(0, 3) === first.slice(0, 3);
  } catch {
    return false;
  }
}

/** Folders of this package, compiled and not, whose frames no author of a kernel looks for. */
function ownFolders(): string[] {
  const folder = fileURLToPath(ownFile(''));
  const sources = folder.replace(/\/(?:dist|\.build\/src)\/$/, '/src/');
  return [folder, sources].flatMap((each) =>
    ['drivers/', 'pager/', 'core/'].map((part) => each + part),
  );
}

/** The engine's own frame of a generator has no file: drivers run launches by generators. */
function isOurs(frame: string): boolean {
  return (
    /node:(?:internal|vm)|\.next \(<anonymous>\)/.test(frame) ||
    ownFolders().some((folder) => frame.includes(folder))
  );
}

/**
 * The stack of a kernel's error for its author: places in the file where it was written, then the
 * frames of the code that launched it.
 * @param stack as the device tells it, with places in the kernel's text as
 * `onemem:kernel:LINE:COLUMN`
 */
export function explainStack(
  name: string,
  body: Body | null,
  stack: string,
  launched: Trace,
): string {
  const [head] = stack.split(/\n\s+at /);
  const callers = framesOf(launched.stack).filter((line) => !/ Device\.run \(/.test(line));
  const frames = framesOf(stack).filter((line) => !isOurs(line));
  if (body === null) return [head, ...frames, ...callers].join('\n');
  const map = mapperOf(body);
  const defined = definedAt(body);
  const shown = frames.map((frame) => {
    const [, line, column] = /onemem:kernel:(\d+):(\d+)/.exec(frame) ?? [];
    if (line === undefined) return frame;
    const place = map?.(Number(line), Number(column)) ?? null;
    const text =
      place !== null
        ? `${place.file}:${place.line}:${place.column}`
        : `line ${line} of the kernel${defined === null ? '' : ` defined at ${defined.file}:${defined.line}:${defined.column}`}`;
    const [, inner] = /at (?:async )?([^ (]+) \(/.exec(frame) ?? [];
    return `    at ${inner ?? name} (${text})`;
  });
  return [head, ...shown, ...callers].join('\n');
}
