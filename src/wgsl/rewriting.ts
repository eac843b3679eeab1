/** Editing the text of a module within its lines, so that positions in errors keep their line. */
import type { Description, Resource } from './describe.js';
import type { Span } from './tree.js';
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
