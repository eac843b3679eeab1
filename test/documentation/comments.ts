/** Examples in the doc comments of what the package exports. */
import { readdirSync, readFileSync } from 'node:fs';
import { ROOT } from './pages.js';

export interface Example {
  /** The file and the line of its comment. */
  readonly place: string;
  readonly code: string;
}

const SOURCES = `${ROOT}src`;

/** What an example of a method finds there. It must not end the space, nor the device. */
const PRELUDE = `import * as onemem from 'onemem';
const { space } = globalThis.onememExamples;
const [device] = space.devices;
const stream = device.stream();
`;

/** Every `@example` below src/. */
export function commentExamples(): Example[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('wgsl/'),
    )
    .sort()
    .flatMap((name) => {
      const text = readFileSync(`${SOURCES}/${name}`, 'utf8');
      return [...text.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].flatMap(({ 0: comment, index }) =>
        examplesOf(comment).map((code) => ({
          place: `src/${name}:${text.slice(0, index).split('\n').length}`,
          code,
        })),
      );
    });
}

function examplesOf(comment: string): string[] {
  const lines = comment
    .replace(/\s*\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*(\/\*\*|\*) ?/, ''));
  return `\n${lines.join('\n')}`
    .split(/^@example\n/m)
    .slice(1)
    .map((rest) => rest.split(/^@\w+/m)[0].trimEnd());
}

/**
 * The example as a program: one that imports nothing has `space` and `device`, and the package's
 * names.
 */
export function programOf({ code }: Example): string {
  if (/^import /m.test(code)) return code;
  const names = [
    'f32',
    'f64',
    'i32',
    'u32',
    'kernel',
    'openSpace',
    'addressView',
    'attachArray',
    'attachSpace',
  ];
  const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
  const taken = used.length === 0 ? '' : `const { ${used.join(', ')} } = onemem;\n`;
  return `${PRELUDE}${taken}${code}\n`;
}
