/** `onemem view`: a recorded run as a picture, in one page that needs no network. */
import { basename } from 'node:path';
import { frameOf, pageOf } from '../../live/page.js';
import { chromeTraceOf } from '../../trace/recording/chrome-trace.js';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { readHistory, readPicture } from './recorded-history.js';
import { writePage } from './written-page.js';

export const command = defineCommand({
  name: 'view',
  usage: 'TRACE [options]',
  summary: 'draw a recorded run: addresses by time, memory, transfers, launches',
  text: `TRACE is a recording, by ONEMEM_RECORD=TRACE or space.record('TRACE'). The command writes one page
for a browser. The page loads nothing, and can be sent to others: it has names of arrays and
kernels, and no content of arrays.

  --html FILE    where the page is written (TRACE.html)
  --chrome FILE  write Chrome's trace format instead, which ui.perfetto.dev opens
  -h, --help

Examples
  onemem view run.rec                      after: ONEMEM_RECORD=run.rec node program.js
  onemem view run.rec --html picture.html
  onemem view run.rec --chrome run.json    for ui.perfetto.dev`,
  options: {
    html: { type: 'string' },
    chrome: { type: 'string' },
  },
  one: 'recording',
  async main(values, [path]) {
    const { html, chrome } = values;
    if (html !== undefined && chrome !== undefined)
      throw new UsageError('--html and --chrome are two forms; write one of them at a time');
    if (chrome !== undefined) {
      const text = JSON.stringify(chromeTraceOf(await readHistory(path)));
      writePage(chrome, text, 'open it at ui.perfetto.dev');
      return 0;
    }
    const builder = await readPicture(path);
    const whole = { ...frameOf(builder.picture()), details: builder.details() };
    writePage(html ?? `${path}.html`, pageOf(basename(path), whole).html, 'open it in a browser');
    return 0;
  },
});
