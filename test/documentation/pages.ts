/** The project's pages, as their readers meet them: links, anchors, blocks of code. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Page {
  /** From the root of the project. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly language: string;
  readonly code: string;
  /** The comment on the line before it, or ''. */
  readonly comment: string;
}

function read(path: string): Page {
  return { path, text: readFileSync(`${ROOT}${path}`, 'utf8') };
}

/** Pages for users and for those who work on the project. */
export function pages(): Page[] {
  const docs = ['docs', 'api/reference'].flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .sort()
      .map((name) => `${folder}/${name}`),
  );
  return ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'examples/README.md', ...docs].map(read);
}

export function blocksOf({ text }: Page): Block[] {
  const found = text.matchAll(/^(?:<!-- (.*) -->\n)?```(\w*)\n([\s\S]*?)^```$/gm);
  return [...found].map(([, comment = '', language, code]) => ({ language, code, comment }));
}

/** The page without its blocks of code. */
export function proseOf({ text }: Page): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

export interface Link {
  readonly target: string;
  readonly anchor: string | undefined;
}

/** Links to files of the project, in Markdown and in HTML. */
export function linksOf(page: Page): Link[] {
  const prose = proseOf(page).replace(/`[^`]*`/g, '');
  const written = [
    ...prose.matchAll(/\]\(([^)#\s]*)(?:#([^)]*))?\)/g),
    ...prose.matchAll(/(?:src|srcset|href)="([^"#]*)(?:#([^"]*))?"/g),
  ];
  return written
    .map(([, target, anchor]) => ({ target, anchor }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** The anchors of a page: its headings as GitHub writes them. */
export function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}
