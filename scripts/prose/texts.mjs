// The texts that the report on words looks at: Markdown pages, and what TypeScript sources say in
// words.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { toString as textOf } from 'mdast-util-to-string';
import remarkGfm from 'remark-gfm';
import remarkParse from 'remark-parse';
import ts from 'typescript';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';

const markdown = unified().use(remarkParse).use(remarkGfm);

function filesBelow(folder, ending) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(folder, name));
}

/** Rows of tables cannot be broken. */
function linesOver(text, columns) {
  return text.split('\n').filter((line) => line.length > columns && !line.startsWith('|')).length;
}

/**
 * Code within a sentence counts as one word, which begins with a capital: a sentence may begin with
 * code.
 */
function oneWord(code) {
  return `C${code.replace(/[^A-Za-z0-9]+/g, '').toLowerCase()}`;
}

function codeAsWords(node) {
  visit(node, 'inlineCode', (code) => {
    code.value = oneWord(code.value);
  });
  return textOf(node);
}

/** A cell of a table with fewer words is a fact and no sentence. */
const CELL_WORDS = 8;

/** Paragraphs and cells of tables, each by itself. Headings and blocks of code are left out. */
function pageTexts(root, path) {
  const tree = markdown.parse(readFileSync(path, 'utf8'));
  const texts = [];
  visit(tree, ['paragraph', 'tableCell'], (node) => {
    const place = `${relative(root, path)}:${node.position.start.line}`;
    const text = codeAsWords(node).replace(/\s+/g, ' ');
    if (node.type === 'paragraph' || text.split(' ').length >= CELL_WORDS)
      texts.push({ text, place });
    return 'skip';
  });
  return texts;
}

function pageGroup(root, name, paths, columns) {
  const pages = paths.map((path) => readFileSync(path, 'utf8'));
  return {
    name,
    texts: paths.flatMap((path) => pageTexts(root, path)),
    columns: pages.reduce((sum, page) => sum + linesOver(page, columns), 0),
    allWords: pages.reduce(
      (sum, page) => sum + page.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word)).length,
      0,
    ),
  };
}

export function markdownTexts(root, columns) {
  const single = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'].map((name) =>
    pageGroup(root, name, [join(root, name)], columns),
  );
  const reference = join(root, 'api/reference');
  const folders = readdirSync(join(root, 'docs'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, paths: filesBelow(join(root, 'docs', name), '.md') }))
    .filter(({ paths }) => paths.length > 0);
  return [
    ...single,
    ...folders.map(({ name, paths }) => pageGroup(root, `docs/${name}`, paths, columns)),
    pageGroup(root, 'docs, all', filesBelow(join(root, 'docs'), '.md'), columns),
    ...(existsSync(reference)
      ? [pageGroup(root, 'api/reference (generated)', filesBelow(reference, '.md'), columns)]
      : []),
  ];
}

/** The words of a comment, without its marks, its examples and its tags. */
function commentWords(comment) {
  return comment
    .replace(/^\/\*\*?|\*\/$|^\s*\/\/ ?/gm, '')
    .replace(/^\s*\* ?/gm, '')
    .replace(/@example[\s\S]*?(?=\n@|$)/g, '')
    .replace(/```[\s\S]*?```/g, '')
    .replace(/@\w+/g, '')
    .replace(/`[^`]*`/g, oneWord)
    .trim();
}

/** What a message says; what is put into it counts as a word. */
function messageWords(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map(({ literal }) => `X${literal.text}`).join('');
}

/** Whether it is a sentence for a reader, and not a name, a path or a piece of a program. */
function isMessage(text) {
  const words = text.trim().split(/\s+/);
  return (
    words.length >= 5 &&
    words.filter((word) => /^[A-Za-z'-]+[,.;:]?$/.test(word)).length >= words.length * 0.7
  );
}

/** Comment lines that follow each other are one text. */
function comments(source, text) {
  const found = [];
  const seen = new Set();
  const take = (ranges) => {
    let run;
    for (const { pos, end, kind } of ranges ?? []) {
      if (seen.has(pos)) continue;
      seen.add(pos);
      const own = text.slice(pos, end);
      const gap = run === undefined ? '' : text.slice(run.end, pos);
      if (
        run !== undefined &&
        kind === ts.SyntaxKind.SingleLineCommentTrivia &&
        /^[ \t]*\n[ \t]*$/.test(gap)
      ) {
        run.text += `\n${own}`;
        run.end = end;
      } else {
        run = { pos, end, text: own };
        found.push(run);
      }
    }
  };
  const look = (node) => {
    take(ts.getLeadingCommentRanges(text, node.getFullStart()));
    take(ts.getTrailingCommentRanges(text, node.getEnd()));
    for (const child of node.getChildren(source)) look(child);
  };
  look(source);
  return found;
}

export function codeTexts(root, columns) {
  const docs = [];
  const others = [];
  const messages = [];
  const over = { docs: 0, others: 0, messages: 0 };
  for (const path of filesBelow(join(root, 'src'), '.ts')) {
    if (path.endsWith('.test.ts')) continue;
    const text = readFileSync(path, 'utf8');
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const placeOf = (at) =>
      `${relative(root, path)}:${source.getLineAndCharacterOfPosition(at).line + 1}`;
    for (const { pos, end, text: own } of comments(source, text)) {
      if (own.includes('biome-ignore')) continue;
      const isDoc = own.startsWith('/**');
      (isDoc ? docs : others).push({
        text: commentWords(own).replace(/\s+/g, ' '),
        place: placeOf(pos),
      });
      const first = source.getLineAndCharacterOfPosition(pos).line;
      const last = source.getLineAndCharacterOfPosition(end).line;
      const lines = text.split('\n').slice(first, last + 1);
      over[isDoc ? 'docs' : 'others'] += lines.filter((line) => line.length > columns).length;
    }
    const look = (node) => {
      const said = messageWords(node);
      // A text of several lines is a table of options or the like: each line is looked at by
      // itself.
      for (const line of said?.split('\n') ?? []) {
        if (isMessage(line))
          messages.push({ text: line.replace(/\s+/g, ' '), place: placeOf(node.getStart()) });
      }
      ts.forEachChild(node, look);
    };
    look(source);
  }
  return [
    { name: 'doc comments of src', texts: docs, columns: over.docs },
    { name: 'comments of src', texts: others, columns: over.others },
    { name: 'messages of src', texts: messages, columns: '' },
  ];
}
