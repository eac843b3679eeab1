// The public declarations of the package in one text file, api/PACKAGE.md, so that a change of the interface is seen in
// review and never happens by accident.
//
//   node scripts/api-report.mjs check     fails when the file and dist/ differ, and shows where
//   node scripts/api-report.mjs update    writes the file anew
//
// The declarations are those of dist/, which is what users get: each entry's exports by name, then what those mention
// without its being exported, since a change there reaches users as well. Comments and private members are left out.
// (API Extractor, the usual tool, stops at the global URL that Node's types declare.)

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const command = process.argv[2];
if (command !== 'check' && command !== 'update') {
  console.error('usage: node scripts/api-report.mjs check|update');
  process.exit(2);
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const file = join(root, 'api', `${manifest.name}.md`);
const dist = join(root, 'dist');

const entries = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([name, { types }]) => ({ name: join(manifest.name, name), path: join(root, types) }));
for (const { path } of entries) {
  if (existsSync(path)) continue;
  console.error(`${relative(root, path)} is missing; npm run build writes it`);
  process.exit(1);
}

const program = ts.createProgram(
  entries.map(({ path }) => path),
  {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    strict: true,
    noEmit: true,
  },
);
const checker = program.getTypeChecker();
const printer = ts.createPrinter({ removeComments: true });

/** The symbol itself, not the name by which a module imports or exports it. */
function origin(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isOurs(node) {
  return node.getSourceFile().fileName.startsWith(`${dist}/`);
}

function isPrivate(member) {
  const name = member.name;
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true;
  return (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
}

/** Without private members: they are no part of the API, but their names stand in the declarations. */
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

/** The whole of a declaration: a variable's statement, not only its name and type. */
function wholeOf(declaration) {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

/** The interface that a name stands for: `type PublicDevice = api.Device` says no more than that it is exported. */
function meantBy(declaration) {
  if (!ts.isTypeAliasDeclaration(declaration) || !ts.isTypeReferenceNode(declaration.type)) return declaration;
  const { typeName } = declaration.type;
  if (!ts.isQualifiedName(typeName)) return declaration;
  const target = checker.getSymbolAtLocation(typeName);
  return (target && origin(target).declarations?.find(ts.isInterfaceDeclaration)) ?? declaration;
}

/** Our own symbols that a declaration mentions. */
function mentionedIn(declaration) {
  const found = new Set();
  const visit = (node) => {
    if (ts.isClassElement(node) && isPrivate(node)) return;
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      if (symbol !== undefined) {
        const target = origin(symbol);
        const [first] = target.declarations ?? [];
        // Declared at the top of a module: not a parameter, not a member.
        if (first === undefined || !isOurs(first) || ts.isSourceFile(first)) return;
        if (ts.isSourceFile(wholeOf(first).parent)) found.add(target);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return found;
}

function textOf(name, symbol) {
  const declarations = symbol.declarations ?? [];
  if (declarations.length === 0) throw new Error(`${name} has no declaration`);
  return declarations
    .map((declaration) => {
      const whole = meantBy(wholeOf(declaration));
      const text = printer.printNode(ts.EmitHint.Unspecified, withoutPrivate(whole), whole.getSourceFile());
      // All of a folder's declarations stand in one file here, so that what is exported is said by the headings.
      const bare = text.replace(/^export (default )?/, '').replace(/^declare /, '');
      return name === symbol.name || name === whole.name?.text ? bare : `// exported as ${name}\n${bare}`;
    })
    .join('\n');
}

const parts = [
  `# The interface of ${manifest.name}\n`,
  'Written by `npm run api:update` from the declarations that the package ships. A change here is a change for its users.\n',
];
const exported = new Set();
const shown = [];
for (const { name, path } of entries) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(path));
  if (module === undefined) throw new Error(`${path} is no module`);
  const symbols = checker
    .getExportsOfModule(module)
    .map((symbol) => ({ name: symbol.name, symbol: origin(symbol) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
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
  console.log(`${relative(root, file)}: ${exported.size} exported, ${hidden.size} more that these mention`);
} else {
  const known = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (known === report) console.log(`${relative(root, file)} agrees with dist/`);
  else {
    const before = new Set(known.split('\n'));
    const after = new Set(report.split('\n'));
    for (const line of known.split('\n')) if (!after.has(line)) console.error(`- ${line}`);
    for (const line of report.split('\n')) if (!before.has(line)) console.error(`+ ${line}`);
    console.error(`${relative(root, file)} does not say what the package offers now. If the change is meant, run`);
    console.error('  npm run build && npm run api:update\nand commit the file with it.');
    process.exitCode = 1;
  }
}
