// Reports on the project's words: how long sentences are, how wide lines, which words hide the
// subject. It is a report, not a check: it always ends with 0.
//
//   npm run -s prose                       the table
//   npm run -s prose -- --worst 10         and the longest sentences of each group, with their places
//   npm run -s prose -- --hidden           and every word that hides a subject, with its place
//   npm run -s prose -- --group docs       only groups whose name has the text
//   node scripts/prose.mjs --root FOLDER   of another tree
//
// retext parses English into sentences and words, and its plug-ins find the passive voice and wordy
// phrases.

import { parseArgs } from 'node:util';
import retextEnglish from 'retext-english';
import retextPassive from 'retext-passive';
import retextSimplify from 'retext-simplify';
import retextStringify from 'retext-stringify';
import { unified } from 'unified';
import { visit } from 'unist-util-visit';
import { VFile } from 'vfile';
import { examplesOf } from './prose/calls.mjs';
import { codeTexts, markdownTexts } from './prose/texts.mjs';

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: new URL('..', import.meta.url).pathname },
    worst: { type: 'string', default: '0' },
    hidden: { type: 'boolean', default: false },
    group: { type: 'string', default: '' },
  },
});

const LONG = 35;
const COLUMNS = 100;

/** Words after which the reader does not know yet who acts. */
const HIDERS = [
  [/\bwho(?:m|so)?ever\b|\bwhat(?:so)?ever\b/gi, 'whoever, whatever'],
  [
    /(?<!^|[.!?:;] )\bwhat (?:has|had|is|are|was|were|can|could|may|must|goes|came|comes|needs|no|it|they|we|a|an|the)\b/gi,
    'what is',
  ],
  [/^what (?!is .*\?$)/gi, 'what at the beginning'],
  [/\bthere (?:is|are|was|were|may be|can be)\b/gi, 'there is'],
  [/\bsuch (?:as (?:is|are|was|were|had|has|came|come)|a|an)\b/gi, 'such'],
  [/\b(?:of|by|for|with|to|in|on|from|behind|at) (?:which|whom)\b/gi, 'of which'],
  [/\bit is .{3,60} that\b/gi, 'it is ... that'],
  [/\b(?:that|those) of\b/gi, 'that of'],
];

const english = unified()
  .use(retextEnglish)
  .use(retextPassive)
  .use(retextSimplify)
  .use(retextStringify);

/** Sentences of a text: how many words each has, and what of it hides the subject. */
function measure(texts) {
  const sentences = [];
  const hidden = [];
  let words = 0;
  let passive = 0;
  let wordy = 0;
  for (const { text, place } of texts) {
    const file = new VFile(text);
    const tree = english.parse(file);
    english.runSync(tree, file);
    visit(tree, 'SentenceNode', (node) => {
      let count = 0;
      visit(node, 'WordNode', () => {
        count++;
      });
      if (count === 0) return;
      words += count;
      const own = text.slice(node.position.start.offset, node.position.end.offset);
      sentences.push({ count, text: own, place });
      for (const [pattern, name] of HIDERS) {
        for (const _ of own.matchAll(pattern)) hidden.push({ name, text: own, place });
      }
    });
    for (const { source } of file.messages) {
      if (source === 'retext-passive') passive++;
      else wordy++;
    }
  }
  return { sentences, hidden, words, passive, wordy };
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor(sorted.length / 2)];
}

function perThousand(count, words) {
  return words === 0 ? '0' : ((1000 * count) / words).toFixed(1);
}

const groups = [...markdownTexts(values.root, COLUMNS), ...codeTexts(values.root, COLUMNS)].filter(
  ({ name }) => name.includes(values.group),
);
const rows = [];
for (const { name, texts, columns, allWords } of groups) {
  const { sentences, hidden, words, passive, wordy } = measure(texts);
  const counts = sentences.map(({ count }) => count);
  const long = counts.filter((count) => count > LONG).length;
  rows.push({
    of: name,
    words: allWords ?? words,
    sentences: counts.length,
    median: median(counts),
    longest: Math.max(0, ...counts),
    [`over ${LONG}`]: `${((100 * long) / Math.max(1, counts.length)).toFixed(1)} %`,
    'hidden subject': `${hidden.length} (${perThousand(hidden.length, words)})`,
    passive: `${passive} (${perThousand(passive, words)})`,
    wordy: `${wordy} (${perThousand(wordy, words)})`,
    [`lines over ${COLUMNS}`]: columns,
  });
  for (const { count, text, place } of [...sentences]
    .sort((a, b) => b.count - a.count)
    .slice(0, Number(values.worst))) {
    console.log(`${place}: ${count} words: ${text.replace(/\s+/g, ' ')}`);
  }
  if (values.hidden) {
    for (const each of hidden)
      console.log(`${each.place}: ${each.name}: ${each.text.replace(/\s+/g, ' ')}`);
  }
}
const names = Object.keys(rows[0] ?? { of: '' });
const widths = names.map((name) =>
  Math.max(name.length, ...rows.map((row) => String(row[name]).length)),
);
const line = (cells) =>
  cells.map((cell, at) => String(cell)[at === 0 ? 'padEnd' : 'padStart'](widths[at])).join('  ');
console.log(line(names));
for (const row of rows) console.log(line(names.map((name) => row[name])));
console.log(
  'Words of Markdown are those of the whole file, with code and tables; in brackets: for each 1000 words.',
);
const { calls, withExample } = examplesOf(values.root);
console.log(`public calls with an @example: ${withExample} of ${calls}`);
