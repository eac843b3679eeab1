import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { missingModule } from './missing-module.js';

/**
 * How Node.js itself fails to import a module: the test runner's own imports fail in other words.
 */
function failureOf(url: string): Promise<unknown> {
  const source = `
    import('node:worker_threads').then(({ parentPort, workerData }) =>
      import(workerData).catch(({ code, message }) => parentPort.postMessage({ code, message })));`;
  return new Promise((resolve) => {
    new Worker(source, { eval: true, workerData: url }).on('message', resolve);
  });
}

describe('a module that cannot be loaded', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'onemem modules '));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  async function saidOf(file: string): Promise<string | null> {
    const { href } = pathToFileURL(join(folder, file));
    return missingModule(href, await failureOf(href));
  }

  it('since there is none is named by its path', async () => {
    expect(await saidOf('none.mjs')).toContain(
      `there is no file ${join(folder, 'none.mjs')}; new URL(`,
    );
  });

  it('since a file that it imports is not there says which', async () => {
    writeFileSync(join(folder, 'mine.mjs'), "import './other.mjs';");
    expect(await saidOf('mine.mjs')).toMatch(/^it imports .*other\.mjs, and there is no such file/);
  });

  it('since a package that one of its files imports is not installed says whose and which', async () => {
    writeFileSync(join(folder, 'mine.mjs'), "import './other.mjs';");
    writeFileSync(join(folder, 'other.mjs'), "import 'no-such-package-of-onemem';");
    expect(await saidOf('mine.mjs')).toMatch(
      /other\.mjs imports package no-such-package-of-onemem, which is not inst/,
    );
  });

  it('since it fails is said by its own error', async () => {
    writeFileSync(join(folder, 'mine.mjs'), "throw new Error('not today');");
    expect(await saidOf('mine.mjs')).toBe(null);
    expect(missingModule('file:///x.js', null)).toBe(null);
  });
});
