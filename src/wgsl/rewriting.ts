/** Editing the text of a module within its lines, so that positions in errors keep their line. */
import type { Description, Resource } from './describe.js';
import type { Module, Span } from './tree.js';
import { WgslError } from './wgsl-error.js';

export interface Edit {
  readonly at: number;
  readonly text: string;
  /** Characters that spaces take the place of. */
  readonly blank?: number;
}

/** Edits that put text around a part of the source. */
export function around({ start, end }: Span, before: string, after: string): Edit[] {
  return [
    { at: start, text: before },
    { at: end, text: after },
  ];
}

/**
 * An index as a u32. A conversion alone would take a float, or a truth, which the compiler refuses as an index: `|` takes whole numbers alone.
 * Behind the index there is nothing but parentheses, since edits that end where it does may come before or after.
 */
const INDEX = { before: 'u32(0 | (', after: '))' } as const;

/** Edits that have a function say where the element of an index is. */
export function mapped(index: Span, name: string): Edit[] {
  return around(index, `${name}(${INDEX.before}`, `${INDEX.after})`);
}

/** The text of an index, as it is for a function. */
export function indexText(text: string): string {
  return `${INDEX.before}${text}${INDEX.after}`;
}

/** Of what stands around an expression, too. */
export function isWithin({ at }: Edit, { start, end }: Span): boolean {
  return at >= start && at <= end;
}

export function applied(source: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  for (const { at, text, blank = 0 } of [...edits].sort((one, other) => one.at - other.at)) {
    const gone = source.slice(at, at + blank).replace(/[^\n]/g, ' ');
    result += source.slice(from, at) + text + gone;
    from = at + blank;
  }
  return result + source.slice(from);
}

/** The text of an expression with its edits, in one line. Of the source the comments have been taken out. */
export function lineOf(source: string, { start, end }: Span, edits: readonly Edit[]): string {
  return applied(source.slice(0, end), edits).slice(start).replace(/\s+/g, ' ');
}

/** The source with spaces in the places of its comments. */
export function withoutComments(source: string): string {
  let text = '';
  for (let at = 0; at < source.length; ) {
    const end = commentEnd(source, at);
    text += end === at ? source[at] : source.slice(at, end).replace(/[^\n]/g, ' ');
    at = Math.max(end, at + 1);
  }
  return text;
}

/** Where the comment ends that begins here; here, where none does. */
function commentEnd(source: string, start: number): number {
  if (source.startsWith('//', start)) {
    const length = source.slice(start).search(/[\n\v\f\r\u0085\u2028\u2029]/);
    return length === -1 ? source.length : start + length;
  }
  if (!source.startsWith('/*', start)) return start;
  // They may have others in them.
  let depth = 1;
  let at = start + 2;
  for (; depth > 0 && at < source.length; at++) {
    const token = source.slice(at, at + 2);
    if (token !== '/*' && token !== '*/') continue;
    depth += token === '/*' ? 1 : -1;
    at++;
  }
  return at;
}

/** Words of WGSL that stand in what is put into a module, and behind it. */
const WORDS =
  /^(bool|[iu]32|f32|vec[234][iuf]?|array|atomic\w*|ptr|min|select|bitcast|workgroup(Barrier|UniformLoad))$/;

/** @throws WgslError at what the module itself calls by one of them: WGSL's own is hidden then */
export function refuseOwnWords({ source, functions, variables, structs, constants, aliases }: Module): void {
  for (const [name, { start }] of [...functions, ...variables, ...structs, ...constants, ...aliases]) {
    if (WORDS.test(name))
      throw new WgslError(
        source,
        start,
        `${name} hides what WGSL calls so, which parts and pages of a launch need; give it another name`,
      );
  }
}

/** A prefix of names that the module does not have. */
export function freePrefix(source: string): string {
  for (let number = 0; ; number++) {
    const prefix = `onemem${number || ''}`;
    if (!source.includes(`${prefix}_`)) return prefix;
  }
}

/** Variables that the entry point does not use may have any binding, also the same one; those that it uses have their own. */
export function freeBinding({ resources }: Description, group: number, from: number): number {
  const taken = resources.filter((each) => each.group === group).map((each) => each.binding);
  for (let binding = from; ; binding++) if (!taken.includes(binding)) return binding;
}

/** A pointer may be to another array at each call of the function; the text is one. */
export function onlyOne(source: string, resources: ReadonlySet<Resource>, offset: number): Resource {
  const [first, second] = [...resources];
  if (second === undefined) return first as Resource;
  throw new WgslError(
    source,
    offset,
    `this is '${first?.name}' at one call of the function and '${second.name}' at another; write the function once for each`,
  );
}
