// How far a long command is: a bar on a terminal, lines where the output goes to a file or a pipe,
// and nothing where a program reads it.

import { createRequire } from 'node:module';
import type * as CliProgress from 'cli-progress';
import { formatCount, formatDuration } from './format.js';

/**
 * Its end shows the last state and leaves the terminal in order; later calls do nothing. Until then
 * the bar redraws itself by a timer, which keeps the process alive.
 */
export interface Progress extends Disposable {
  /** Done so far. `detail` gives a few words that stand at the end, when they are shown. */
  update(done: number, detail?: () => string): void;
}

export interface ProgressOptions {
  label: string;
  total: number;
  /** Nothing at all, as for --json. */
  silent?: boolean;
  /** Standard error unless told, so that results can be piped on. */
  stream?: NodeJS.WritableStream & { isTTY?: boolean };
}

/** Progress in lines must not fill a log. */
const LINE_EVERY_MS = 1000;

export function createProgress(options: ProgressOptions): Progress {
  if (options.silent) return { update() {}, [Symbol.dispose]() {} };
  const stream = options.stream ?? process.stderr;
  // A terminal that cannot move its cursor gets lines.
  return stream.isTTY && process.env['TERM'] !== 'dumb'
    ? bar(options, stream)
    : lines(options, stream);
}

function none(): string {
  return '';
}

function percent(done: number, total: number): number {
  // Nothing to do is done. 100 means done: 99.9 must not look like it.
  if (total <= 0) return 100;
  return Math.max(0, Math.min(100, Math.floor((done / total) * 100)));
}

function amounts(done: number, total: number): string {
  return `${formatCount(Math.round(done))} of ${formatCount(total)}`;
}

function lines({ label, total }: ProgressOptions, stream: NodeJS.WritableStream): Progress {
  const started = performance.now();
  let shownAt = Number.NEGATIVE_INFINITY;
  let shownPercent = -1;
  let last: { done: number; detail: () => string } | null = null;
  let finished = false;
  const show = (done: number, detailOf: () => string) => {
    const detail = detailOf();
    const at = percent(done, total);
    stream.write(
      `${label}: ${at}% (${amounts(done, total)}) after ` +
        `${formatDuration(performance.now() - started)}${detail === '' ? '' : `, ${detail}`}\n`,
    );
    shownAt = performance.now();
    shownPercent = at;
    last = null;
  };
  return {
    update(done, detail = none) {
      if (finished) return;
      last = { done, detail };
      const sinceMs = performance.now() - shownAt;
      // A job that stands still says so only now and then, and not every second.
      const everyMs = percent(done, total) === shownPercent ? 10 * LINE_EVERY_MS : LINE_EVERY_MS;
      if (sinceMs >= everyMs) show(done, detail);
    },
    [Symbol.dispose]() {
      if (!finished && last) show(last.done, last.detail);
      finished = true;
    },
  };
}

function bar(options: ProgressOptions, stream: NodeJS.WritableStream): Progress {
  let finished = false;
  let text = none;
  // Loaded where a bar is shown.
  const cliProgress = createRequire(import.meta.url)('cli-progress') as typeof CliProgress;
  const single = new cliProgress.SingleBar(
    {
      stream: stream as NodeJS.WriteStream,
      noTTYOutput: false,
      hideCursor: false,
      fps: 10,
      barsize: 30,
      // Left as it is: switched off, it would stay off after an interrupt. Lines are cut to the
      // width instead.
      linewrap: true,
      clearOnComplete: false,
      stopOnComplete: false,
      emptyOnZero: false,
      gracefulExit: false,
      format: (settings, params) => {
        const filled = Math.round(
          Math.min(1, Math.max(0, params.progress)) * (settings.barsize ?? 30),
        );
        const picture = `${'█'.repeat(filled)}${'░'.repeat((settings.barsize ?? 30) - filled)}`;
        const detail = text();
        const line =
          `${options.label} ${picture} ${String(percent(params.value, options.total)).padStart(3)}%  ` +
          `${amounts(params.value, options.total)}${detail === '' ? '' : `  ${detail}`}`;
        return line.slice(0, Math.max(20, ((stream as NodeJS.WriteStream).columns || 80) - 1));
      },
    },
    cliProgress.Presets.shades_classic,
  );
  single.start(Math.max(options.total, 1), options.total <= 0 ? 1 : 0);
  return {
    update(done, detail = none) {
      if (finished) return;
      text = detail;
      single.update(Math.min(done, Math.max(options.total, 1)));
    },
    [Symbol.dispose]() {
      if (finished) return;
      finished = true;
      single.stop();
    },
  };
}
