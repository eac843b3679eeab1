/** A comparison of policies as a page, which loads nothing and runs nothing. */
import { createHash } from 'node:crypto';
import type { RoomResult } from '../../sim/policy-comparison.js';
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js';

/** What was found of one size of a memory. */
export interface Row extends RoomResult {
  readonly memory: string;
  readonly roomBytes: number;
  readonly uses: number;
  readonly blocks: number;
  /** The time for what is brought. Traces do not say what is written, and goes back. */
  readonly machines: readonly MachineTimes[];
}

/** How long it takes on a machine. */
interface MachineTimes {
  readonly machine: string;
  /** Every block once. */
  readonly leastMs: number;
  readonly optimumMs: number;
  readonly policies: readonly { readonly policy: string; readonly ms: number }[];
}

const STYLE = `
  :root { color-scheme: light dark; }
  body { font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: right; padding: 0.2rem 0.6rem; }
  th:first-child, td:first-child { text-align: left; }
  td meter { width: 8rem; vertical-align: middle; }
`;

export function comparisonPage(title: string, rows: readonly Row[]): string {
  const name = escaped(title);
  const style = `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;
  const policy = `default-src 'none'; ${style}; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>${name}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${name}</h1>
<p>Blocks that each policy brings, beside the optimum (Belady's MIN).</p>
${rows.map(section).join('\n')}
</body>
</html>
`;
}

function section({ memory, roomBytes, uses, blocks, optimum, policies, machines }: Row): string {
  const most = Math.max(optimum, ...policies.map(({ misses }) => misses));
  const all = [{ policy: 'optimum', misses: optimum, overOptimum: 1 }, ...policies];
  const lines = all.map(({ policy, misses, overOptimum }, at) => {
    const times = machines.map((each) =>
      formatDuration(at === 0 ? each.optimumMs : each.policies[at - 1].ms),
    );
    const bar = `<meter max="${most}" value="${misses}"></meter>`;
    return [escaped(policy), formatCount(misses), overOptimum.toFixed(2), bar, ...times];
  });
  const header = [
    'policy',
    'blocks',
    'times the optimum',
    '',
    ...machines.map((each) => each.machine),
  ];
  const row = (cells: readonly string[], kind: 'th' | 'td'): string =>
    `<tr>${cells.map((cell) => `<${kind}>${cell}</${kind}>`).join('')}</tr>`;
  return `<h2>${escaped(memory)} with ${formatBytes(roomBytes)}</h2>
<p>${formatCount(uses)} uses of ${formatCount(blocks)} blocks.</p>
<table>
<thead>${row(header.map(escaped), 'th')}</thead>
<tbody>
${lines.map((cells) => row(cells, 'td')).join('\n')}
</tbody>
</table>`;
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
