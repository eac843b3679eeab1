import { PassThrough } from 'node:stream';
import { describe, expect, test, vi } from 'vitest';
import { createProgress } from './progress.js';

function capture(isTTY: boolean) {
  let text = '';
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 120 });
  stream.on('data', (chunk) => {
    text += chunk;
  });
  return { stream, text: () => text };
}

describe('lines', () => {
  test('at most one a second, and the first and the last state', () => {
    const { stream, text } = capture(false);
    let time = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
    const progress = createProgress({
      label: 'run',
      total: 1000,
      stream,
    });
    for (let done = 0; done <= 1000; done++) {
      time = done * 3.2;
      progress.update(done);
    }
    progress[Symbol.dispose]();
    progress[Symbol.dispose]();
    progress.update(5);
    clock.mockRestore();
    const lines = text().trimEnd().split('\n');
    expect(lines[0]).toBe('run: 0% (0 of 1,000) after 0 us');
    expect(lines.at(-1)).toBe('run: 100% (1,000 of 1,000) after 3.2 s');
    expect(lines).toHaveLength(5);
  });

  test('does not say 100% before the end, nor the same every second', () => {
    const { stream, text } = capture(false);
    let time = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => time);
    const progress = createProgress({
      label: 'run',
      total: 1000,
      stream,
    });
    for (; time < 30_000; time += 500) progress.update(999.5, () => '3 faults');
    clock.mockRestore();
    expect(text()).not.toContain('100%');
    expect(text().trimEnd().split('\n')).toHaveLength(3);
    expect(text()).toContain('99% (1,000 of 1,000) after 10 s, 3 faults');
  });

  test('a dumb terminal gets lines', () => {
    const { stream, text } = capture(true);
    vi.stubEnv('TERM', 'dumb');
    const progress = createProgress({ label: 'run', total: 10, stream });
    progress.update(10);
    progress[Symbol.dispose]();
    vi.unstubAllEnvs();
    expect(text()).toMatch(/^run: 100% \(10 of 10\) after .*\n$/);
  });
});

test('a terminal gets a bar, drawn to the end', () => {
  vi.stubEnv('TERM', 'xterm');
  // cli-progress moves the cursor with methods that only a real terminal has.
  const { stream, text } = capture(true);
  const progress = createProgress({ label: 'run', total: 64_000_000, stream });
  progress.update(32_000_000, () => '12 faults');
  progress.update(64_000_000, () =>
    'a detail that is far longer than the terminal is wide, and so is cut'.repeat(2),
  );
  progress[Symbol.dispose]();
  progress[Symbol.dispose]();
  vi.unstubAllEnvs();
  expect(text()).toContain(`${'█'.repeat(30)} 100%  64,000,000 of 64,000,000`);
  expect(text().endsWith('\n')).toBe(true);
  expect(text()).not.toContain('so is cut');
});

test('nothing is written when silent', () => {
  const { stream, text } = capture(false);
  const progress = createProgress({ label: 'run', total: 1, silent: true, stream });
  progress.update(1);
  progress[Symbol.dispose]();
  expect(text()).toBe('');
});

test('a job with nothing to do is done', () => {
  const { stream, text } = capture(false);
  const progress = createProgress({ label: 'run', total: 0, stream });
  progress.update(0);
  progress[Symbol.dispose]();
  expect(text()).toContain('100% (0 of 0)');
});
