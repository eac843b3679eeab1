// Programs out of Debian's packages, for tests: fetched into a folder in node_modules/.cache,
// without being installed. They are no dependencies of the project, and nothing of them is in its
// package.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const TRIES = 4;
const LIMIT_MS = 240_000;
/** The suites that the machine's apt lists. */
const OWN = 'own';
/** The same, with the packages that they need and the machine lacks. */
export const OWN_WITH_NEEDED = 'own with needed';

function call(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  if (status === 0) return stdout;
  throw new Error(
    `${[command, ...args].join(' ')}: ${error?.message ?? `exit code ${status}`}\n${stderr ?? ''}`,
  );
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

/** What packages need and the machine lacks. */
function lackingOf(packages, apt, folder) {
  const kinds = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(
    (kind) => `--no-${kind}`,
  );
  const needed = call('apt-cache', [...apt, 'depends', '--recurse', ...kinds, ...packages], folder);
  const installed = call(
    'dpkg-query',
    ['-W', '-f', `\${db:Status-Status} \${Package}\n`],
    folder,
  ).split('\n');
  return needed
    .split('\n')
    .filter((name) => /^[a-z0-9]/.test(name) && !installed.includes(`installed ${name}`));
}

/** Downloads what the machine's own lists of packages know. */
function download(packages, folder) {
  // The lists may be missing, or older than what the mirror has.
  const known = spawnSync('apt-get', ['download', '--print-uris', ...packages], { cwd: folder });
  if (known.status !== 0) call('apt-get', ['update', '--quiet'], folder);
  try {
    call('apt-get', ['download', '--quiet', ...packages], folder);
  } catch (error) {
    call('apt-get', ['update', '--quiet'], folder);
    throw error;
  }
}

/** Where the machine's apt has a release of Debian from. */
function mirrorOf(release) {
  const targets = call(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'],
    root,
  );
  const mirror = new RegExp(`^(\\S+) ${release} main$`, 'm').exec(targets)?.[1];
  if (mirror === undefined) throw new Error(`this machine's apt does not list Debian's ${release}`);
  return mirror;
}

/**
 * Downloads from a suite that the machine's apt does not list, such as bookworm-backports: by lists
 * of our own, which apt checks against Debian's keys, from the mirror that the machine uses. With
 * the packages come those that they need and the machine lacks.
 */
function downloadBeside(release, suite, mirror, packages, folder) {
  const lists = mkdtempSync(join(folder, 'lists-'));
  mkdirSync(join(lists, 'partial'));
  // Not among the lists, which apt clears of what it does not know.
  const sources = `${lists}.list`;
  const keys = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
  writeFileSync(
    sources,
    [release, suite].map((each) => `deb ${keys} ${mirror} ${each} main\n`).join(''),
  );
  const apt = [
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=/dev/null',
    `Dir::State::lists=${lists}`,
    `Dir::Cache=${lists}`,
    'Acquire::Languages=none',
    `APT::Default-Release=${suite}`,
  ].flatMap((option) => ['-o', option]);
  // Without a default release, which must be in the lists.
  call('apt-get', [...apt.slice(0, -2), '--quiet', 'update'], folder);
  const lacking = lackingOf(packages, apt, folder);
  call('apt-get', [...apt, '--quiet', 'download', ...new Set([...packages, ...lacking])], folder);
}

/**
 * Fetches the packages into a folder of their own, which takes its name only when everything is in
 * it.
 */
function fetchFiles(cache, suite, packages) {
  const fetched = mkdtempSync(join(cache, 'fetching-'));
  try {
    if (suite === OWN) retried(() => download(packages, fetched));
    else if (suite === OWN_WITH_NEEDED)
      retried(() => download([...packages, ...lackingOf(packages, [], fetched)], fetched));
    else {
      const release = suite.replace(/-.*/, '');
      const mirror = mirrorOf(release);
      retried(() => downloadBeside(release, suite, mirror, packages, fetched));
    }
    const files = readdirSync(fetched).filter((name) => name.endsWith('.deb'));
    for (const name of files) call('dpkg-deb', ['-x', name, 'files'], fetched);
    renameSync(join(fetched, 'files'), join(cache, 'files'));
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
}

/**
 * The folder with the files of some packages, fetched if it is not there yet. Throws what is in the
 * way.
 * @param suite where they come from: what the machine's apt lists, or a suite beside it
 */
export function debianFiles(name, packages, suite = OWN) {
  const cache = join(root, 'node_modules/.cache', name);
  const folder = join(cache, 'files');
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // One fetches, the others wait for it and find what it has fetched.
    const self = fileURLToPath(import.meta.url);
    call(
      'flock',
      [join(cache, 'lock'), process.execPath, self, '--fetch', name, suite, ...packages],
      root,
    );
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

/**
 * The folders with libraries that were fetched, for a search path; none where the machine lacked
 * none. Some packages keep their own in a folder of the common one.
 */
export function fetchedLibraries(folder) {
  const libraries = join(folder, 'usr/lib');
  const found = readdirSync(libraries, { recursive: true, encoding: 'utf8' })
    .filter((name) => /linux-gnu\/.*\.so(\.[^/]*)?$/.test(name))
    .map((name) => dirname(join(libraries, name)));
  return [...new Set(found)];
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === '--fetch') {
  const [name, suite, ...packages] = process.argv.slice(3);
  const cache = join(root, 'node_modules/.cache', name);
  if (!existsSync(join(cache, 'files'))) fetchFiles(cache, suite, packages);
}
