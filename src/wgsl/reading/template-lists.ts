/**
 * Which `<` begin lists of template parameters, by the algorithm of the specification ("Template
 * Lists"). The parser looks for their ends beyond closing parentheses, and takes `f(a < b) >> 2u`
 * for such a list.
 */
import { tokensOf } from './tokens.js';

/** A `<` that may begin a list, and the brackets around it. */
interface Pending {
  readonly at: number;
  readonly depth: number;
}

/**
 * The text with `>` in the place of each `<` behind a name that is a comparison: to a parser it is
 * the same but for the operator.
 * @param source without its comments
 */
export function withPlainComparisons(source: string): string {
  const lists = new Set<number>();
  const candidates: number[] = [];
  const pending: Pending[] = [];
  let depth = 0;
  let isBehindName = false;
  const dropInner = (): void => {
    while ((pending.at(-1)?.depth ?? -1) >= depth) pending.pop();
  };
  const dropAll = (): void => {
    pending.length = 0;
    depth = 0;
  };
  for (const { text, at, isName } of tokensOf(source)) {
    if (text === '<' && isBehindName) {
      candidates.push(at);
      pending.push({ at, depth });
    } else if (text === '>' || text === '>=') {
      const ends = pending.at(-1)?.depth === depth;
      if (ends) lists.add((pending.pop() as Pending).at);
      // What is left of `>=` is an assignment.
      if (ends && text === '>=') dropAll();
    } else if (text === '(' || text === '[') depth++;
    else if (text === ')' || text === ']') {
      dropInner();
      depth = Math.max(0, depth - 1);
    } else if (text === '&&' || text === '||') dropInner();
    else if (text === '=' || text === ';' || text === '{' || text === ':') dropAll();
    isBehindName = isName;
  }
  const characters = source.split('');
  for (const at of candidates) if (!lists.has(at)) characters[at] = '>';
  return characters.join('');
}
