// A browser for tests: the machine's Chromium, or else one out of Debian's packages, in
// node_modules/.cache.
//
//   node scripts/browser.mjs COMMAND ...   runs a command that finds the browser in ONEMEM_BROWSER

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { debianFiles, fetchedLibraries, OWN_WITH_NEEDED } from './debian-packages.mjs';

const INSTALLED = '/usr/bin/chromium';

/** The environment in which the browser is found. Throws what is in the way. */
function browserEnvironment() {
  if (process.env.ONEMEM_BROWSER !== undefined) return {};
  if (existsSync(INSTALLED)) return { ONEMEM_BROWSER: INSTALLED };
  const folder = debianFiles('browser', ['chromium-headless-shell'], OWN_WITH_NEEDED);
  const path = [...fetchedLibraries(folder), process.env.LD_LIBRARY_PATH];
  return {
    ONEMEM_BROWSER: join(folder, 'usr/lib/chromium/chromium-headless-shell'),
    LD_LIBRARY_PATH: path.filter(Boolean).join(':'),
  };
}

const [command, ...args] = process.argv.slice(2);
const { status, error } = spawnSync(command, args, {
  stdio: 'inherit',
  env: { ...process.env, ...browserEnvironment() },
});
if (error !== undefined) console.error(`cannot run ${command}: ${error.message}`);
process.exitCode = status ?? 1;
