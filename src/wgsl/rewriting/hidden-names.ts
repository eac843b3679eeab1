/**
 * Names of WGSL's own that a module may call something else by: what is put into the module needs
 * them. Such a name of the module's gets another one, as long as it is, so that all stays in its
 * place.
 */
import { withoutComments } from '../reading/comments.js';
import { tokensOf } from '../reading/tokens.js';
import type { Module } from '../reading/tree.js';

const TYPES = 'bool [iu]32 f32 vec[234][iuf]? array atomic ptr';
const FUNCTIONS =
  'min select bitcast workgroup(Barrier|UniformLoad) atomic(Load|Store|Add|Sub|Max|Min|And|Or|Xor|Exchange|CompareExchangeWeak)';
const SPACES = 'storage uniform private workgroup read read_write';
const WORDS = new RegExp(`^(${[TYPES, FUNCTIONS, SPACES].join(' ').replaceAll(' ', '|')})$`);

export interface Unhidden {
  readonly source: string;
  /** What a name of the module's is called in it. */
  nameOf(name: string): string;
}

/** The module's text in which WGSL's own names mean what they do, at least at module scope. */
export function unhidden({
  source,
  functions,
  variables,
  structs,
  constants,
  aliases,
}: Module): Unhidden {
  const hiding = [functions, variables, structs, constants, aliases].flatMap((each) =>
    [...each.keys()].filter((name) => WORDS.test(name)),
  );
  if (hiding.length === 0) return { source, nameOf: (name) => name };
  const tokens = [...tokensOf(withoutComments(source))].filter(({ isName }) => isName);
  const taken = new Set(tokens.map(({ text }) => text));
  const names = new Map<string, string>();
  for (const name of hiding) {
    const other = freeName(taken, name.length);
    taken.add(other);
    names.set(name, other);
  }
  let text = '';
  let from = 0;
  for (const { text: name, at } of tokens) {
    const other = names.get(name);
    if (other === undefined) continue;
    text += source.slice(from, at) + other;
    from = at + name.length;
  }
  return { source: text + source.slice(from), nameOf: (name) => names.get(name) ?? name };
}

/** WGSL has no name of its own that begins so. */
function freeName(taken: ReadonlySet<string>, length: number): string {
  for (let number = 0; ; number++) {
    const name = `z${number.toString(36).padStart(length - 1, '0')}`;
    if (!taken.has(name)) return name;
  }
}
