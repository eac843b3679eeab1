// The public declarations of the package in one text file, api/PACKAGE.md, so that a change of the
// interface is seen in review and never happens by accident.
//
//   node scripts/api-report.mjs check     fails when the file and dist/ differ, and shows where
//   node scripts/api-report.mjs update    writes the file anew
//
// The declarations are those of dist/, which is what users get: each entry's exports by name, then
// what those mention without its being exported, since a change there reaches users as well.
// Comments and private members are left out. (API Extractor, the usual tool, stops at the global
// URL that Node's types declare.)

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import {
  checker,
  exportsOfEntries,
  isPrivate,
  manifest,
  meantBy,
  mentionedIn,
  root,
  wholeOf,
} from './public-api.mjs';

const command = process.argv[2];
if (command !== 'check' && command !== 'update') {
  console.error('usage: node scripts/api-report.mjs check|update');
  process.exit(2);
}
const file = join(root, 'api', `${manifest.name}.md`);
const printer = ts.createPrinter({ removeComments: true });

/**
 * Without private members: they are no part of the API, but their names stand in the declarations.
 */
function withoutPrivate(node) {
  if (!ts.isClassDeclaration(node)) return node;
  const members = node.members.filter((member) => !isPrivate(member));
  return ts.factory.updateClassDeclaration(
    node,
    node.modifiers,
    node.name,
    node.typeParameters,
    node.heritageClauses,
    members,
  );
}

function textOf(name, symbol) {
  const declarations = symbol.declarations ?? [];
  if (declarations.length === 0) throw new Error(`${name} has no declaration`);
  return declarations
    .map((declaration) => {
      const whole = meantBy(wholeOf(declaration));
      const text = printer.printNode(
        ts.EmitHint.Unspecified,
        withoutPrivate(whole),
        whole.getSourceFile(),
      );
      // All of a folder's declarations stand in one file here, so that what is exported is said by
      // the headings.
      const bare = text.replace(/^export (default )?/, '').replace(/^declare /, '');
      return name === symbol.name || name === whole.name?.text
        ? bare
        : `// exported as ${name}\n${bare}`;
    })
    .join('\n');
}

const parts = [
  `# The interface of ${manifest.name}\n`,
  'Written by `npm run api:update` from the declarations that the package ships. A change here is a change for its users.\n',
];
const exported = new Set();
const shown = [];
for (const { name, exports: symbols } of exportsOfEntries()) {
  parts.push(`## import from '${name}'\n`, '```ts');
  for (const each of symbols) {
    parts.push(`${textOf(each.name, each.symbol)}\n`);
    exported.add(each.symbol);
    for (const declaration of each.symbol.declarations ?? []) {
      const { name: identifier } = meantBy(declaration);
      if (identifier !== undefined) exported.add(checker.getSymbolAtLocation(identifier));
    }
    shown.push(each.symbol);
  }
  parts.push('```\n');
}
const hidden = new Set();
for (const symbol of shown) {
  for (const declaration of symbol.declarations ?? []) {
    for (const other of mentionedIn(meantBy(wholeOf(declaration)))) {
      if (exported.has(other) || hidden.has(other)) continue;
      hidden.add(other);
      shown.push(other);
    }
  }
}
if (hidden.size > 0) {
  parts.push('## Not exported, but part of what is\n', '```ts');
  for (const symbol of [...hidden].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    parts.push(`${textOf(symbol.name, symbol)}\n`);
  }
  parts.push('```\n');
}
const report = parts.join('\n').replaceAll('\n\n```\n', '\n```\n');
if (report.includes(root)) throw new Error('the declarations name a folder of this machine');

if (command === 'update') {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, report);
  console.log(
    `${relative(root, file)}: ${exported.size} exported, ${hidden.size} more that these mention`,
  );
} else {
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (known === report) console.log(`${relative(root, file)} agrees with dist/`);
  else {
    const before = new Set(known.split('\n'));
    const after = new Set(report.split('\n'));
    for (const line of known.split('\n')) if (!after.has(line)) console.error(`- ${line}`);
    for (const line of report.split('\n')) if (!before.has(line)) console.error(`+ ${line}`);
    console.error(
      `${relative(root, file)} does not say what the package offers now. If the change is meant, run`,
    );
    console.error('  npm run build && npm run api:update\nand commit the file with it.');
    process.exitCode = 1;
  }
}
