/** `onemem top`: what a running program of this user does at the moment, or a recorded one did. */

import { existsSync } from 'node:fs';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { print } from '../terminal/output.js';
import { SORTS, type Sort, screenOf } from './top-screen.js';
import { type TopFrame, type TopSource, TopSpaces } from './top-space.js';
import { TopTrace } from './top-trace.js';

const CLEAR_LINE = '\u001b[K';
const BEGIN = '\u001b[?1049h\u001b[?25l';
const END = '\u001b[?25h\u001b[?1049l';

export const command = defineCommand({
  name: 'top',
  usage: '[PID|NAME|TRACE] [OPTIONS]',
  summary: 'watch a running program: memories, rates, arrays, the bottleneck',
  text: `The program allows it by ONEMEM_OBSERVABLE=1, openSpace({ observable: true }), space.serve() or
space.share(). NAME is that of a space which 'onemem serve' keeps. The columns are rates: bytes that
came in, of these the ones that came again after an eviction, and bytes evicted. 'most for' is why
most of an array moved: a touch, a launch, read-ahead, a request, or room for others. TRACE is a
recording, by ONEMEM_RECORD=TRACE or space.record('TRACE'): it is shown interval by interval of its
own time.

  --interval SECONDS  from 0.1 to 60 (1)
  --sort KEY          ${SORTS.join(', ')}
  --once              one interval, then end
  --json              one object a line
  -h, --help

Keys: s sorts by the next key, n shows the process's next space, p pauses, q or Ctrl-C detaches.
Without a terminal each interval is a block of plain lines for each space. No colours are used.

Examples
  onemem top
  onemem top 1234 --sort again
  onemem top run.rec --interval 0.5
  onemem top jobs --once --json | jq .bottleneck`,
  options: {
    interval: { type: 'string' },
    sort: { type: 'string' },
    once: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  atMostOne: 'process, name or file',
  async main(values, [wanted]) {
    const intervalMs = intervalOf(values.interval);
    const sort = sortOf(values.sort);
    const isTrace = wanted !== undefined && existsSync(wanted);
    const source = isTrace ? await TopTrace.of(wanted, intervalMs) : await TopSpaces.find(wanted);
    try {
      const { stdin, stdout } = process;
      const isScreen = stdin.isTTY && stdout.isTTY && process.env.TERM !== 'dumb';
      if (isScreen && !values.json && !values.once)
        await new Screen(source, intervalMs, sort).run();
      else
        do {
          // A recording need not be waited for.
          if (!isTrace) await new Promise((resolve) => setTimeout(resolve, intervalMs));
          const frames = await source.frames();
          if (frames === null) break;
          for (const frame of frames)
            if (values.json) print(JSON.stringify(frame));
            else print(`${plainLines(frame, sort).join('\n')}\n`);
        } while (!values.once);
    } finally {
      source.close();
    }
    return 0;
  },
});

function plainLines(frame: TopFrame, sort: Sort): string[] {
  return screenOf(frame, { sort, columns: 80, rows: Number.POSITIVE_INFINITY });
}

/** A terminal, with keys. */
class Screen {
  private isPaused = false;
  private frames: readonly TopFrame[] = [];
  private shown = 0;
  private wake = (): void => {};
  private hasEnded = false;

  constructor(
    private readonly source: TopSource,
    private readonly intervalMs: number,
    private sort: Sort,
  ) {}

  async run(): Promise<void> {
    const { stdin } = process;
    const hear = (text: string): void => this.key(text);
    const end = (): void => this.end();
    stdin.setRawMode(true).setEncoding('utf8').on('data', hear).once('end', end);
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
    this.write(BEGIN);
    try {
      while (!this.hasEnded) {
        await this.wait();
        if (this.hasEnded) break;
        await this.next();
        this.draw();
      }
    } finally {
      this.write(END);
      stdin.off('data', hear).setRawMode(false).pause();
    }
  }

  /** Moves of a program are taken while it pauses, too, so that none is lost. */
  private async next(): Promise<void> {
    if (this.isPaused && this.frames[0]?.pid === null) return;
    const frames = await this.source.frames();
    // What a recording ends with stays.
    if (frames !== null && !this.isPaused) this.frames = frames;
  }

  private wait(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.intervalMs);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private key(text: string): void {
    for (const key of text) {
      if (key === 'q' || key === '\u0003' || key === '\u0004') this.end();
      else if (key === 'p' || key === ' ') this.isPaused = !this.isPaused;
      else if (key === 'n') this.shown++;
      else if (key === 's') this.sort = SORTS[(SORTS.indexOf(this.sort) + 1) % SORTS.length];
    }
    if (!this.hasEnded) this.draw();
  }

  private end(): void {
    this.hasEnded = true;
    this.wake();
  }

  private draw(): void {
    const { frames } = this;
    if (frames.length === 0) return;
    const frame = frames[this.shown % frames.length];
    const { columns = 80, rows = 24 } = process.stdout;
    const keys = `by ${this.sort}${this.isPaused ? ', paused' : ''}   s sort  p pause${frames.length > 1 ? '  n next space' : ''}  q detach`;
    const lines = screenOf(frame, { sort: this.sort, columns, rows: rows - 1 });
    const text = [...lines, keys.slice(0, columns)].map((line) => `${line}${CLEAR_LINE}`);
    this.write(`\u001b[H${text.join('\r\n')}\u001b[J`);
  }

  private write(text: string): void {
    print(text, '');
  }
}

function intervalOf(text = '1'): number {
  const seconds = Number(text);
  if (text !== '' && seconds >= 0.1 && seconds <= 60) return seconds * 1000;
  throw new UsageError(`--interval is '${text}'; it must be from 0.1 to 60 seconds`);
}

function sortOf(text = 'moved'): Sort {
  const found = SORTS.find((sort) => sort === text);
  if (found !== undefined) return found;
  throw new UsageError(`--sort is '${text}'; it must be one of ${SORTS.join(', ')}`);
}
