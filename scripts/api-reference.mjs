// The reference of the API, api/reference/, its index docs/reference/api.md and the tables of
// docs/reference/errors.md, written from the doc comments of the declarations that the package
// ships.
//
//   node scripts/api-reference.mjs check     fails when the pages and dist/ differ
//   node scripts/api-reference.mjs update    writes them anew

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { errorCodes } from './error-codes.mjs';
import {
  checker,
  exportsOfEntries,
  isPrivate,
  meantBy,
  mentionedIn,
  root,
  wholeOf,
} from './public-api.mjs';

const command = process.argv[2];
if (command !== 'check' && command !== 'update') {
  console.error('usage: node scripts/api-reference.mjs check|update');
  process.exit(2);
}
const folder = join(root, 'api/reference');
const index = join(root, 'docs/reference/api.md');
const errors = join(root, 'docs/reference/errors.md');

/**
 * The pages, each with the exports that it begins with, in their order. What else an entry exports
 * stands on the first page on which something mentions it.
 */
const PAGES = [
  {
    file: 'spaces.md',
    title: 'Spaces',
    entry: 'onemem',
    begins: [
      'openSpace',
      'AddressSpace',
      'attachSpace',
      'ThreadBinding',
      'OnememError',
      'SpaceOptions',
    ],
  },
  {
    file: 'arrays.md',
    title: 'Arrays',
    entry: 'onemem',
    begins: [
      'ManagedArray',
      'SharedArray',
      'attachArray',
      'addressView',
      'AddressView',
      'Hold',
      'Pin',
      'Guard',
      'Notifier',
      'attachNotifier',
      'SequenceReader',
    ],
  },
  {
    file: 'devices.md',
    title: 'Kernels, devices and streams',
    entry: 'onemem',
    begins: [
      'kernel',
      'parseParameter',
      'Device',
      'Stream',
      'StreamEvent',
      'LaunchOptions',
      'StreamOptions',
    ],
  },
  {
    file: 'driver.md',
    title: 'Drivers',
    entry: 'onemem/driver',
    begins: ['CreateDriver', 'Driver'],
  },
  { file: 'policy.md', title: 'Policies', entry: 'onemem/policy', begins: [] },
  {
    file: 'testing.md',
    title: 'The conformance suite',
    entry: 'onemem/testing',
    begins: ['conformance'],
  },
];

const printer = ts.createPrinter({ removeComments: true });

function textOf(node) {
  return printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .replace(/^export (default )?/, '')
    .replace(/^declare /, '')
    .replace(/^const .*: /, '');
}

/** On one line, as in a cell of a table. */
function inline(text) {
  return text.replace(/\s+/g, ' ').replaceAll('readonly ', '');
}

const COLUMNS = 100;

/** A signature, on one line or with a line for each parameter. */
function signature(node) {
  const line = inline(textOf(node));
  if (line.length <= COLUMNS || node.parameters === undefined || node.parameters.length === 0)
    return line;
  const parameters = node.parameters.map((each) => inline(textOf(each)));
  const list = parameters.join(', ');
  const at = line.indexOf(`(${list})`);
  if (at === -1) return line;
  return `${line.slice(0, at)}(\n  ${parameters.join(',\n  ')},\n)${line.slice(at + list.length + 2)}`;
}

function cell(text) {
  return text.replaceAll('|', '\\|');
}

/**
 * What the comment says, and its tags, each of which begins a line: within an example an `@` is
 * part of a program.
 */
function commentOf(node) {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).slice(-1);
  const lines = (doc?.getText() ?? '')
    .replace(/\s*\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\*\*|\*) ?/, ''));
  const [text, ...parts] = lines
    .join('\n')
    .split(/^(?=@(?:param|returns|throws|example|internal)\b)/m);
  const tags = parts.map((part) => {
    const [, name, rest] = /^@(\w+)([\s\S]*)$/.exec(part);
    const [, of, said] = name === 'param' ? /^\s+(\S+)\s*([\s\S]*)$/.exec(rest) : ['', '', rest];
    return { name, of, text: said.replace(/^[ \t]*\n/, '').trimEnd() };
  });
  return { text: text.trim(), tags, isInternal: tags.some(({ name }) => name === 'internal') };
}

/** The comment as paragraphs, with its parameters, errors and examples. */
function proseOf(node) {
  const { text, tags } = commentOf(node);
  const lines = [];
  if (text !== '') lines.push(text);
  for (const { name, of, text: said } of tags) {
    if (name === 'param' && said !== '') lines.push(`- \`${of}\`: ${said.replace(/^- /, '')}`);
    if (name === 'returns') lines.push(`Returns ${said.trim()}`);
    if (name === 'throws') lines.push(`Throws ${said.trim()}`);
    if (name === 'example') lines.push(`\`\`\`js\n${said}\n\`\`\``);
  }
  return lines
    .join('\n\n')
    .replace(/\n\n(?=- )/g, (gap, at, all) => (all.slice(0, at).match(/\n- [^\n]*$/) ? '\n' : gap));
}

function membersOf(declaration) {
  return declaration.members.filter((member) => {
    if (isPrivate(member) || commentOf(member).isInternal) return false;
    return member.name === undefined || !ts.isComputedPropertyName(member.name);
  });
}

function isMethod(member) {
  return (
    ts.isMethodSignature(member) ||
    ts.isMethodDeclaration(member) ||
    ts.isConstructorDeclaration(member) ||
    ts.isCallSignatureDeclaration(member)
  );
}

/** A table of what is read or said: properties, options. */
function propertiesOf(members) {
  const rows = members.map((member) => {
    const optional = member.questionToken === undefined ? '' : '?';
    const type = member.type === undefined ? '' : inline(textOf(member.type));
    const said = inline(commentOf(member).text);
    return `| \`${member.name.getText()}${optional}\` | \`${cell(type)}\` | ${cell(said)} |`;
  });
  return rows.length === 0 ? [] : [['| name | type | |', '|---|---|---|', ...rows].join('\n')];
}

function methodsOf(owner, members) {
  const byName = new Map();
  for (const member of members) {
    const name = ts.isConstructorDeclaration(member)
      ? 'constructor'
      : (member.name?.getText() ?? 'call');
    byName.set(name, [...(byName.get(name) ?? []), member]);
  }
  return [...byName].flatMap(([name, overloads]) => [
    `### ${owner}.${name}`,
    `\`\`\`ts\n${overloads.map(signature).join('\n')}\n\`\`\``,
    ...overloads.map(proseOf).filter((text) => text !== ''),
  ]);
}

function membersOfType(name, declarations) {
  const byName = new Map();
  for (const [at, { declaration, omitted }] of declarations.entries()) {
    for (const member of membersOf(declaration)) {
      const own = member.name?.getText() ?? '';
      // What a type says itself stands before what its bases say.
      if ((byName.has(own) && byName.get(own).at !== at) || omitted.includes(`'${own}'`)) continue;
      byName.set(own, { at, members: [...(byName.get(own)?.members ?? []), member] });
    }
  }
  const members = [...byName.values()].flatMap(({ members: each }) => each);
  return [
    ...propertiesOf(members.filter((member) => !isMethod(member))),
    ...methodsOf(name, members.filter(isMethod)),
  ];
}

const exportedNames = new Set(
  exportsOfEntries().flatMap(({ exports }) => exports.map(({ name }) => name)),
);

/**
 * What a declaration extends. Members of a base that the package does not export are shown as its
 * own.
 */
function basesOf(type) {
  return (type.heritageClauses ?? []).flatMap(({ types }) =>
    types.map((base) => {
      const named = base.typeArguments?.[0] ?? base;
      const symbol = checker.getTypeAtLocation(named).symbol;
      const declaration = symbol?.declarations?.find(
        (each) => ts.isInterfaceDeclaration(each) || ts.isClassDeclaration(each),
      );
      const isOmit = base.expression.getText() === 'Omit';
      return {
        text: inline(base.getText()),
        isExported: declaration === undefined || exportedNames.has(symbol.name),
        declaration,
        omitted: isOmit ? (base.typeArguments?.[1]?.getText() ?? '') : '',
      };
    }),
  );
}

function sectionOf(name, symbol) {
  const declarations = (symbol.declarations ?? []).map((each) => meantBy(wholeOf(each)));
  const parts = [`## ${name}`];
  const types = declarations.filter(
    (each) => ts.isInterfaceDeclaration(each) || ts.isClassDeclaration(each),
  );
  if (types.length > 0) {
    for (const type of types) {
      const bases = basesOf(type);
      const extended = bases
        .filter(({ isExported }) => isExported)
        .map(({ text }) => `\`${text}\``);
      if (extended.length > 0) parts.push(`Also has all of ${extended.join(', ')}.`);
      const shown = [
        { declaration: type, omitted: '' },
        ...bases.filter(({ isExported }) => !isExported),
      ];
      // What is handed on as it is needs no members.
      parts.push(proseOf(type), ...(name.endsWith('Handle') ? [] : membersOfType(name, shown)));
    }
  } else {
    const code = declarations
      .map((each) => (ts.isFunctionDeclaration(each) ? signature(each) : textOf(each)))
      .join('\n');
    parts.push(`\`\`\`ts\n${code}\n\`\`\``, ...declarations.map(proseOf));
  }
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Numbers and types of parameters, one a line of a table: they differ by their names. */
function isConstant({ symbol }) {
  const [declaration] = symbol.declarations ?? [];
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    !ts.isClassLike(declaration) &&
    symbol.declarations.length === 1
  );
}

function constantsOf(exports) {
  if (exports.length === 0) return [];
  const byText = new Map();
  for (const { name, symbol } of exports) {
    const [declaration] = symbol.declarations;
    const type = inline(textOf(declaration.type ?? declaration))
      .replaceAll(`"${name}"`, '...')
      .replaceAll(`'${name}'`, '...');
    const key = `${type}\n${inline(commentOf(wholeOf(declaration)).text)}`;
    byText.set(key, [...(byText.get(key) ?? []), name]);
  }
  const rows = [...byText].map(([key, names]) => {
    const [type, said] = key.split('\n');
    const shown = type.length > 80 ? '' : `\`${cell(type)}\``;
    return `| ${names.map((name) => `\`${name}\``).join(', ')} | ${shown} | ${cell(said)} |`;
  });
  return ['## Constants', ['| name | type | |', '|---|---|---|', ...rows].join('\n')];
}

/** Exports by page. */
function placed() {
  const sections = new Map(PAGES.map(({ file }) => [file, []]));
  for (const { name: entry, exports } of exportsOfEntries()) {
    const own = PAGES.filter((page) => page.entry === entry);
    const left = new Map(exports.map((each) => [each.name, each]));
    const take = (page, name) => {
      const found = left.get(name);
      if (found === undefined) return false;
      left.delete(name);
      sections.get(page.file).push(found);
      return true;
    };
    for (const page of own) {
      for (const name of page.begins)
        if (!take(page, name))
          throw new Error(`${page.file} begins with ${name}, which ${entry} does not export`);
    }
    for (const page of own) {
      const placedHere = sections.get(page.file);
      for (let at = 0; at < placedHere.length; at++) {
        const mentioned = new Set(
          (placedHere[at].symbol.declarations ?? []).flatMap((each) => [
            ...mentionedIn(meantBy(wholeOf(each))),
          ]),
        );
        for (const each of [...left.values()])
          if (mentioned.has(each.symbol)) take(page, each.name);
      }
    }
    for (const name of [...left.keys()]) take(own[own.length - 1], name);
  }
  return sections;
}

function hasExample({ symbol }) {
  return (symbol.declarations ?? []).some((each) =>
    commentOf(wholeOf(each)).tags.some(({ name }) => name === 'example'),
  );
}

const HEAD = 'Written by `npm run api:update` from the doc comments.';
const ASSUMED = `Examples without an import assume a space with a device:

\`\`\`js
const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
const [device] = space.devices;
const stream = device.stream();
\`\`\``;

const sections = placed();
const pages = new Map();
for (const { file, title, entry } of PAGES) {
  const parts = [`# ${title}`, `\`import { ... } from '${entry}'\`. ${HEAD}`];
  if (entry === 'onemem') parts.push(ASSUMED);
  const found = sections.get(file);
  for (const { name, symbol } of found.filter((each) => !isConstant(each) || hasExample(each))) {
    parts.push(sectionOf(name, symbol));
  }
  parts.push(...constantsOf(found.filter((each) => isConstant(each) && !hasExample(each))));
  pages.set(file, `${parts.join('\n\n')}\n`);
}
const rows = PAGES.map(({ file, title, entry, begins }) => {
  const there = `../../api/reference/${file}`;
  const names = begins.map((name) => `[${name}](${there}#${name.toLowerCase()})`).join(', ');
  return `- [${title}](${there}), from \`${entry}\`${names === '' ? '' : `: ${names}`}`;
});
const indexText = `# API\n\n${HEAD}\n\n${rows.join('\n')}\n`;

const errorPage = readFileSync(errors, 'utf8');
const codes = errorCodes(root, errorPage);
if (codes.problems.length > 0) {
  for (const problem of codes.problems) console.error(problem);
  process.exitCode = 1;
}

const there = existsSync(folder) ? readdirSync(folder) : [];
if (command === 'update') {
  mkdirSync(folder, { recursive: true });
  for (const name of there) if (!pages.has(name)) rmSync(join(folder, name));
  for (const [name, text] of pages) writeFileSync(join(folder, name), text);
  writeFileSync(index, indexText);
  writeFileSync(errors, codes.text);
  console.log(`${relative(root, folder)}: ${pages.size} pages`);
} else {
  const names = new Set([...there, ...pages.keys()]);
  const wrong = [...names].filter((name) => {
    const path = join(folder, name);
    return !pages.has(name) || !existsSync(path) || readFileSync(path, 'utf8') !== pages.get(name);
  });
  if (!existsSync(index) || readFileSync(index, 'utf8') !== indexText)
    wrong.push(relative(folder, index));
  if (errorPage !== codes.text) wrong.push(relative(folder, errors));
  for (const name of wrong)
    console.error(`${relative(root, join(folder, name))} is not what the doc comments say`);
  if (wrong.length > 0) {
    console.error('Write the pages anew, and commit them:\n  npm run build && npm run api:update');
    process.exitCode = 1;
  } else console.log(`${relative(root, folder)} agrees with dist/`);
}
