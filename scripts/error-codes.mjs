// The tables of error codes in docs/reference/errors.md, from the comments of the two types of
// codes; and which codes of those types the source does not use, or uses beyond them.

import { readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

const TYPES = ['messages/error-codes.ts', 'cli/terminal/command-codes.ts'];

/** Warnings of Node.js have codes of their own, in docs/reference/options.md. */
const WARNING = /^ONEMEM_/;

/** The codes of a type, each with its comment. */
function codesOf(path) {
  const text = readFileSync(path, 'utf8');
  const union = text.slice(text.indexOf('export type'));
  const found = [...union.matchAll(/\/\*\*\s+(?:\* )?(.*?)\s+\*\/\s*\| '([A-Z0-9_]+)'/gs)];
  const named = union.match(/\| '/g).length;
  if (found.length !== named)
    throw new Error(`${path}: ${named - found.length} codes have no comment`);
  return found.map(([, said, code]) => ({ code, said: said.replace(/\s*\n\s*\* ?/g, ' ') }));
}

function table(codes) {
  const rows = codes.map(({ code, said }) => `| \`${code}\` | ${said.replaceAll('|', '\\|')} |`);
  return ['| code | meaning |', '|---|---|', ...rows].join('\n');
}

/** The texts within quotation marks that stand where a code does, and all others. */
function literalsOf(folder, own) {
  const all = new Set();
  const codes = new Map();
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!name.endsWith('.ts') || name.endsWith('.test.ts') || own.includes(name)) continue;
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, literal] of text.matchAll(/'([A-Z][A-Z0-9_]*)'/g)) all.add(literal);
    for (const [, literal] of text.matchAll(/\bcode: '([A-Z][A-Z0-9_]*)'/g))
      codes.set(literal, name);
  }
  return { all, codes };
}

/**
 * @param root the folder of the project
 * @returns the page with its tables, and what is wrong with the types, a sentence each
 */
export function errorCodes(root, page) {
  const source = join(root, 'src');
  const [library, command] = TYPES.map((name) => codesOf(join(source, name)));
  const known = new Set([...library, ...command].map(({ code }) => code));
  const { all, codes } = literalsOf(source, TYPES);
  const problems = [
    ...[...known]
      .filter((code) => !all.has(code))
      .map((code) => `no source uses the error code ${code}`),
    ...[...codes]
      .filter(([code]) => !known.has(code) && !WARNING.test(code) && !(code in constants.errno))
      .map(
        ([code, name]) =>
          `src/${name} uses the error code ${code}, which ${TYPES[0]} does not have`,
      ),
  ];
  for (const codes of [library, command]) {
    const names = codes.map(({ code }) => code);
    if (names.join() !== [...names].sort().join())
      problems.push(`the codes are not sorted: ${names[0]} ...`);
  }
  const text = [library, command].reduce(
    (made, codes, index) =>
      made.replace(
        new RegExp(`(<!-- codes ${index + 1} -->\n)[\\s\\S]*?(<!-- end of codes ${index + 1} -->)`),
        (_, begin, end) => `${begin}${table(codes)}\n${end}`,
      ),
    page,
  );
  return { text, problems };
}
