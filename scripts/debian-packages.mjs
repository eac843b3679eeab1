// Programs out of Debian's packages, for tests: fetched into a folder in node_modules/.cache, without being installed. They are no
// dependencies of the project, and nothing of them is in its package.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const TRIES = 4;
const LIMIT_MS = 240_000;

function call(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: LIMIT_MS });
  if (status === 0) return stdout;
  throw new Error(`${[command, ...args].join(' ')}: ${error?.message ?? `exit code ${status}`}\n${stderr ?? ''}`);
}

function retried(what) {
  for (let tries = 1; ; tries++) {
    try {
      return what();
    } catch (error) {
      if (tries === TRIES) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000 * tries);
    }
  }
}

/** Fetches the packages into a folder of their own, which takes its name only when everything is in it. */
function fetchFiles(cache, packages) {
  const fetched = mkdtempSync(join(cache, 'fetching-'));
  try {
    retried(() => {
      // The lists may be missing, or older than what the mirror has.
      const known = spawnSync('apt-get', ['download', '--print-uris', ...packages], { cwd: fetched });
      if (known.status !== 0) call('apt-get', ['update', '--quiet'], fetched);
      try {
        call('apt-get', ['download', '--quiet', ...packages], fetched);
      } catch (error) {
        call('apt-get', ['update', '--quiet'], fetched);
        throw error;
      }
    });
    const files = readdirSync(fetched).filter((name) => name.endsWith('.deb'));
    for (const name of files) call('dpkg-deb', ['-x', name, 'files'], fetched);
    renameSync(join(fetched, 'files'), join(cache, 'files'));
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
}

/** The folder with the files of some packages, fetched if it is not there yet. Throws what is in the way. */
export function debianFiles(name, packages) {
  const cache = join(root, 'node_modules/.cache', name);
  const folder = join(cache, 'files');
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // One fetches, the others wait for it and find what it has fetched.
    const self = fileURLToPath(import.meta.url);
    call('flock', [join(cache, 'lock'), process.execPath, self, '--fetch', name, ...packages], root);
  }
  return folder;
}

/** Where a library lies in what was fetched. */
export function libraryFolder(folder, library) {
  const libraries = join(folder, 'usr/lib');
  const found = readdirSync(libraries, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith(`linux-gnu/${library}`),
  );
  if (found === undefined) throw new Error(`no ${library} in ${libraries}`);
  return dirname(join(libraries, found));
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === '--fetch') {
  const [name, ...packages] = process.argv.slice(3);
  const cache = join(root, 'node_modules/.cache', name);
  if (!existsSync(join(cache, 'files'))) fetchFiles(cache, packages);
}
