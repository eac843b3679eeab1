// The package's public declarations, as its entries export them: what the report and the reference
// are made of.

import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
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
export const checker = program.getTypeChecker();

/** The symbol itself, not the name by which a module imports or exports it. */
export function origin(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function isOurs(node) {
  return node.getSourceFile().fileName.startsWith(`${dist}/`);
}

export function isPrivate(member) {
  const name = member.name;
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true;
  return (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0;
}

/** The whole of a declaration: a variable's statement, not only its name and type. */
export function wholeOf(declaration) {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

/**
 * The interface that a name stands for: `type PublicDevice = api.Device` says no more than that it
 * is exported.
 */
export function meantBy(declaration) {
  if (!ts.isTypeAliasDeclaration(declaration) || !ts.isTypeReferenceNode(declaration.type))
    return declaration;
  const { typeName } = declaration.type;
  if (!ts.isQualifiedName(typeName)) return declaration;
  const target = checker.getSymbolAtLocation(typeName);
  return (target && origin(target).declarations?.find(ts.isInterfaceDeclaration)) ?? declaration;
}

/** Our own symbols that a declaration mentions. */
export function mentionedIn(declaration) {
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

/** Each entry of the package with what it exports, by name. */
export function exportsOfEntries() {
  return entries.map(({ name, path }) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path));
    if (module === undefined) throw new Error(`${path} is no module`);
    const exports = checker
      .getExportsOfModule(module)
      .map((symbol) => ({ name: symbol.name, symbol: origin(symbol) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    return { name, exports };
  });
}
