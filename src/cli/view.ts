/** `onemem view`: a recorded run as a picture, in one page that needs no network. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { chromeTraceOf } from '../trace/chrome-trace.js';
import { type Picture, pictureOf } from '../trace/picture.js';
import { CommandError, codeOf, explain, UsageError } from './failure.js';
import { formatBytes } from './format.js';
import { parseOptions } from './options.js';
import { print } from './output.js';
import { readHistory } from './recorded-history.js';

export const VIEW_SUMMARY = 'draw a recorded run: addresses by time, memory, transfers, launches';

export const VIEW_HELP = `onemem view TRACE [options]: ${VIEW_SUMMARY}

TRACE is a recording, by ONEMEM_RECORD=TRACE or space.record('TRACE'). The command writes one page
for a browser. The page loads nothing, and can be sent to others: it has names of arrays and
kernels, and no content of arrays.

  --html FILE    where the page is written (TRACE.html)
  --chrome FILE  write Chrome's trace format instead, which ui.perfetto.dev opens
  -h, --help

Examples
  onemem view run.rec                      after: ONEMEM_RECORD=run.rec node program.js
  onemem view run.rec --html picture.html
  onemem view run.rec --chrome run.json    for ui.perfetto.dev`;

export async function view(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions('view', args, {
    html: { type: 'string' },
    chrome: { type: 'string' },
  });
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0)
    throw new UsageError('onemem view takes one recording; see: onemem view --help');
  const { html, chrome } = values;
  if (html !== undefined && chrome !== undefined)
    throw new UsageError('--html and --chrome are two forms; write one of them at a time');
  const history = await readHistory(path);
  if (chrome !== undefined)
    write(chrome, JSON.stringify(chromeTraceOf(history)), 'open it at ui.perfetto.dev');
  else
    write(
      html ?? `${path}.html`,
      pageOf(basename(path), pictureOf(history)),
      'open it in a browser',
    );
  return 0;
}

function write(file: string, text: string, use: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandError(codeOf(error), explain(error), [], { cause: error });
  }
  print(`${file}: ${formatBytes(text.length)}; ${use}`);
}

function pageOf(title: string, picture: Picture): string {
  const { places, arrived, returned, ...rest } = picture;
  const data = {
    ...rest,
    places: base64(places),
    arrived: base64(arrived),
    returned: base64(returned),
  };
  const style = asset('page.css');
  const script = asset('page.js');
  const parts: Readonly<Record<string, string>> = {
    TITLE: escaped(title),
    STYLE: style,
    STYLE_HASH: hashOf(style),
    SCRIPT: script,
    SCRIPT_HASH: hashOf(script),
    // No text of the recording ends the element that it stands in.
    DATA: JSON.stringify(data).replaceAll('<', '\\u003c'),
  };
  return asset('page.html').replace(/@([A-Z_]+)@/g, (whole, name: string) => parts[name] ?? whole);
}

function asset(name: string): string {
  return readFileSync(new URL(`../view/${name}`, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function base64(values: Uint8Array | Uint16Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
