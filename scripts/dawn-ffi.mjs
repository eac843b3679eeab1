// Runs a command with GPUs driven by Dawn's C functions (transport 'dawn-ffi'). The package that
// has them is for x64 alone, so that it is no dependency of the project: it is fetched into
// node_modules/.cache, where the command finds it by NODE_PATH.
//
//   node scripts/dawn-ffi.mjs COMMAND ...      says aloud that it does not, where there is no such library

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAME = 'bun-webgpu-linux-x64';
const VERSION = '0.1.7';
const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The folder in which the package lies. Fetches it when it is not there yet. Throws what is in the
 * way.
 */
function packages() {
  if (process.arch !== 'x64') throw new Error(`${NAME} is for x64, and this is ${process.arch}`);
  const cache = join(root, 'node_modules/.cache');
  const folder = join(cache, `dawn-ffi-${VERSION}`);
  const found = join(folder, 'node_modules');
  if (existsSync(folder)) return found;
  mkdirSync(cache, { recursive: true });
  const fetched = mkdtempSync(join(cache, 'fetching-'));
  try {
    writeFileSync(join(fetched, 'package.json'), '{ "private": true }\n');
    const { status, stderr } = spawnSync(
      'npm',
      ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${NAME}@${VERSION}`],
      { cwd: fetched, encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`npm install ${NAME}@${VERSION}: ${stderr}`);
    // The folder takes its name when everything is in it; another run may have been faster.
    if (!existsSync(folder)) renameSync(fetched, folder);
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
  return found;
}

const [command, ...args] = process.argv.slice(2);
let folder;
try {
  folder = packages();
} catch (error) {
  console.log(`SKIPPED, for want of Dawn's C functions: ${error.message}`);
  console.log('0 passed, 0 failed, 1 skipped');
}
if (folder !== undefined) {
  const path = [folder, process.env.NODE_PATH].filter(Boolean).join(':');
  const env = { ...process.env, NODE_PATH: path, ONEMEM_WEBGPU_TRANSPORT: 'dawn-ffi' };
  process.exitCode = spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
}
