/** Units of systemd in pages. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { blocksOf, type Page } from './pages.js';

export function unitsOf(page: Page): string[] {
  return blocksOf(page)
    .filter(({ language, code }) => language === 'ini' && code.includes('[Service]'))
    .map(({ code }) => code);
}

/** Has systemd look at them, where it is there. */
export function checkUnits(page: Page): void {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-units-'));
  try {
    for (const unit of unitsOf(page)) {
      const path = join(folder, 'onemem.service');
      writeFileSync(path, unit);
      const { error, status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', path], {
        encoding: 'utf8',
        env: { ...process.env, XDG_RUNTIME_DIR: folder },
      });
      if (error !== undefined) console.log('     SKIPPED: there is no systemd-analyze');
      else assert.deepEqual([status, stderr], [0, '']);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
