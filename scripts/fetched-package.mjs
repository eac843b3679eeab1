// Packages of npm that some tests need and that are too large, or for too few machines, to be
// dependencies of the project: fetched into node_modules/.cache, without their scripts.
//
//   node scripts/fetched-package.mjs NAME VERSION    prints the node_modules in which it lies

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The node_modules in which a package lies. Fetches it when it is not there yet. Throws what is in
 * the way.
 */
export function fetchedPackage(name, version) {
  const cache = join(root, 'node_modules/.cache');
  const folder = join(cache, `${name}-${version}`);
  const found = join(folder, 'node_modules');
  if (existsSync(folder)) return found;
  mkdirSync(cache, { recursive: true });
  const fetched = mkdtempSync(join(cache, 'fetching-'));
  try {
    writeFileSync(join(fetched, 'package.json'), '{ "private": true }\n');
    const { status, stderr } = spawnSync(
      'npm',
      ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`],
      { cwd: fetched, encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`npm install ${name}@${version}: ${stderr}`);
    // The folder takes its name when everything is in it; another run may have been faster.
    if (!existsSync(folder)) renameSync(fetched, folder);
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, version] = process.argv.slice(2);
  console.log(fetchedPackage(name, version));
}
