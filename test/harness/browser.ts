/** Chromium, and what a page of a run says of itself. */
import assert from 'node:assert/strict';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Detail, Picture } from '../../src/trace/picture/picture.js';
import type { Report } from '../../src/trace/report/report.js';
import { whenFailedOrDone } from './suite.js';

/** What the page shows, as data (src/view/script/main.js). */
export interface Shown {
  /** A page keeps the last report. */
  readonly frame: Pick<
    Picture,
    'arrays' | 'columns' | 'durationMs' | 'launches' | 'memories' | 'processors' | 'rows'
  > & { readonly report: Report };
  /** Cells of the map in each memory, by its name; none: 'nowhere'. */
  readonly cells: Readonly<Record<string, number>>;
  readonly span: { readonly from: number; readonly to: number; readonly follows: boolean };
  readonly mode: string;
  readonly cross: { readonly row: number; readonly ms: number } | null;
  readonly details: {
    readonly kind: string;
    readonly array?: string;
    readonly text: string;
    readonly moves: readonly Detail[] | null;
  } | null;
}

let browser: Browser | null = null;
whenFailedOrDone(async () => {
  await browser?.close();
  browser = null;
});

export interface Look {
  readonly width?: number;
  readonly dark?: boolean;
}

/**
 * A page, with what is wrong with it: errors, refusals of its own policy, and requests to other
 * places than its own.
 */
export class View {
  private constructor(
    readonly page: Page,
    private readonly wrong: string[],
  ) {}

  static async open(url: string, { width = 1280, dark = false }: Look = {}): Promise<View> {
    browser ??= await chromium.launch({
      executablePath: process.env.ONEMEM_BROWSER ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
    const page = await browser.newPage({
      viewport: { width, height: 800 },
      colorScheme: dark ? 'dark' : 'light',
    });
    const wrong: string[] = [];
    page.on('pageerror', ({ message }) => wrong.push(message));
    page.on('console', (said) => {
      if (said.type() === 'error') wrong.push(said.text());
    });
    page.on('request', (asked) => {
      if (!asked.url().startsWith(url)) wrong.push(`a request to ${asked.url()}`);
    });
    await page.goto(url);
    // Not by waitForFunction: that evaluates a text in the page, which the page's policy forbids.
    for (const end = performance.now() + 30_000; ; await page.waitForTimeout(30)) {
      if (await page.evaluate('Boolean(globalThis.onememView?.run.frame)')) break;
      assert.ok(performance.now() < end, `${url} shows no frame: ${wrong.join('; ')}`);
    }
    return new View(page, wrong);
  }

  shown(): Promise<Shown> {
    return this.page.evaluate(`(() => {
      const { run, span, map, details } = globalThis.onememView;
      const { places, arrived, returned, occupancy, ...frame } = run.frame;
      const cells = {};
      for (const place of run.places) {
        const name = place === 255 ? 'nowhere' : frame.memories[place].name;
        cells[name] = (cells[name] ?? 0) + 1;
      }
      const { from, to, follows } = span;
      const { mode, cross } = map;
      return { frame, cells, span: { from, to, follows }, mode, cross, details: details.shown };
    })()`);
  }

  /** Waits until the page shows something. */
  async until(what: (shown: Shown) => boolean): Promise<Shown> {
    for (const end = performance.now() + 15_000; ; ) {
      const shown = await this.shown();
      if (what(shown)) return shown;
      assert.ok(performance.now() < end, `the page shows ${JSON.stringify(shown).slice(0, 2000)}`);
      await this.page.waitForTimeout(30);
    }
  }

  /** Clicks into a drawing, at parts of its width and height. */
  async click(id: string, across: number, down: number): Promise<void> {
    const { width, height } = await this.sizeOf(id);
    const position = { x: across * width, y: down * height };
    await this.page.locator(`#${id}`).click({ position });
  }

  async sizeOf(id: string): Promise<{ x: number; y: number; width: number; height: number }> {
    const box = await this.page.locator(`#${id}`).boundingBox();
    assert.ok(box !== null && box.width > 0, `${id} is not there`);
    return box;
  }

  async close(): Promise<void> {
    await this.page.close();
    assert.deepEqual(this.wrong, []);
  }
}
