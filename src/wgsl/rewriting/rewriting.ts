/** Editing the text of a module within its lines, so that positions in errors keep their line. */
import type { Description, Resource } from '../reading/describe.js';
import type { Span } from '../reading/tree.js';
import { WgslError } from '../reading/wgsl-error.js';

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

/** Edits that have a function say where the element of an index is. */
export function mapped(index: Span, prefix: string, name: string): Edit[] {
  const { before, after } = indexAround(prefix);
  return around(index, `${prefix}_${name}(${before}`, `${after})`);
}

/** The text of an index, as it is for a function. */
export function indexText(prefix: string, text: string): string {
  const { before, after } = indexAround(prefix);
  return `${before}${text}${after}`;
}

/**
 * An index as a u32. A conversion alone would take a float, or a truth, which the compiler refuses
 * as an index: `|` takes whole numbers alone. Behind the index there is nothing but parentheses,
 * since edits that end where it does may come before or after.
 */
function indexAround(prefix: string) {
  return { before: `${prefix}_u32(0 | (`, after: '))' };
}

/** Names of types that functions of the module may shadow: they stand in these. */
export function typeNames(prefix: string): string {
  return `\nalias ${prefix}_u32 = u32;\nalias ${prefix}_vec3u = vec3u;`;
}

/** Of what stands around an expression, too. */
export function isWithin({ at }: Edit, { start, end }: Span): boolean {
  return at >= start && at <= end;
}

export function applied(source: string, edits: readonly Edit[]): string {
  let result = '';
  let from = 0;
  // What is put around something comes before what takes the place of its beginning.
  const order = (one: Required<Edit>, other: Required<Edit>) =>
    one.at - other.at || Number(one.blank > 0) - Number(other.blank > 0);
  for (const { at, text, blank } of edits.map((each) => ({ blank: 0, ...each })).sort(order)) {
    const gone = source.slice(at, at + blank).replace(/[^\n]/g, ' ');
    result += source.slice(from, at) + text + gone;
    from = at + blank;
  }
  return result + source.slice(from);
}

/** The text of an expression with its edits, in one line and without comments. */
export function lineOf(source: string, { start, end }: Span, edits: readonly Edit[]): string {
  return applied(source.slice(0, end), edits).slice(start).replace(/\s+/g, ' ');
}

/** A prefix of names that the module does not have. */
export function freePrefix(source: string): string {
  for (let number = 0; ; number++) {
    const prefix = `onemem${number || ''}`;
    if (!source.includes(`${prefix}_`)) return prefix;
  }
}

/** Unused variables may share bindings; used ones have their own. */
export function freeBinding(
  { resources }: Pick<Description, 'resources'>,
  group: number,
  from: number,
): number {
  const taken = resources.filter((each) => each.group === group).map((each) => each.binding);
  for (let binding = from; ; binding++) if (!taken.includes(binding)) return binding;
}

/** A pointer may be to another array at each call of the function; the text is one. */
export function onlyOne(
  source: string,
  resources: ReadonlySet<Resource>,
  offset: number,
): Resource {
  const [first, second] = [...resources];
  if (second === undefined) return first as Resource;
  throw new WgslError(
    source,
    offset,
    `this is '${first?.name}' at one call of the function and '${second.name}' at another; write the function once for each`,
  );
}
