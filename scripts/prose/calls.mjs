// Public calls of the package, and which of them have an example in their comment.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

function hasExample(node) {
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'example');
}

/**
 * Functions, and methods of the objects that a program holds: of classes, and of interfaces that
 * have a value beside them. Overloads are one call.
 */
export function examplesOf(root) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.values(exports)
    .filter((target) => typeof target === 'object')
    .map(({ types }) => join(root, types.replace('dist/', 'src/').replace('.d.ts', '.ts')));
  const program = ts.createProgram(entries, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    noEmit: true,
  });
  const checker = program.getTypeChecker();
  const calls = new Map();
  const note = (name, declarations) => {
    calls.set(name, (calls.get(name) ?? false) || declarations.some(hasExample));
  };
  for (const entry of entries) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(entry));
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol =
        exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const declarations = symbol.declarations ?? [];
      if (declarations.some(ts.isFunctionDeclaration)) note(exported.name, declarations);
      if ((symbol.flags & ts.SymbolFlags.Value) === 0 || (symbol.flags & ts.SymbolFlags.Type) === 0)
        continue;
      for (const member of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
        const own = member.declarations ?? [];
        const isOurs = own.every((each) =>
          each.getSourceFile().fileName.startsWith(join(root, 'src')),
        );
        const isPrivate = own.some(
          (each) =>
            (ts.getCombinedModifierFlags(each) & ts.ModifierFlags.Private) !== 0 ||
            each.name?.kind === ts.SyntaxKind.PrivateIdentifier,
        );
        const isInternal = own.some((each) =>
          ts.getJSDocTags(each).some((tag) => tag.tagName.text === 'internal'),
        );
        if (!isOurs || isPrivate || isInternal || member.name.startsWith('__@')) continue;
        const isMethod = own.some(
          (each) => ts.isMethodSignature(each) || ts.isMethodDeclaration(each),
        );
        if (isMethod) note(`${exported.name}.${member.name}`, own);
      }
    }
  }
  return {
    calls: calls.size,
    withExample: [...calls.values()].filter(Boolean).length,
    names: calls,
  };
}
