// A GPU in software for tests of `kind: 'webgpu'`: SwiftShader out of Debian's package of Chromium, and the Vulkan loader, in
// node_modules/.cache. They are no dependencies of the project, and nothing of them is in its package.
//
//   node scripts/software-gpu.mjs                  prints the environment that has programs use it: NAME=value, a line each
//   node scripts/software-gpu.mjs COMMAND ...      runs a command in this environment; says aloud that it does not, where there is no such GPU

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const cache = join(root, 'node_modules/.cache/software-gpu');
const folder = join(cache, 'files');
const driver = join(folder, 'usr/lib/chromium/vk_swiftshader_icd.json');
/** chromium-common has SwiftShader and its description; libvulkan1 what finds drivers by such descriptions. */
const PACKAGES = ['chromium-common', 'libvulkan1'];
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
function fetchFiles() {
  const fetched = mkdtempSync(join(cache, 'fetching-'));
  try {
    retried(() => {
      // The lists may be missing, or older than what the mirror has.
      const known = spawnSync('apt-get', ['download', '--print-uris', ...PACKAGES], { cwd: fetched });
      if (known.status !== 0) call('apt-get', ['update', '--quiet'], fetched);
      try {
        call('apt-get', ['download', '--quiet', ...PACKAGES], fetched);
      } catch (error) {
        call('apt-get', ['update', '--quiet'], fetched);
        throw error;
      }
    });
    const packages = readdirSync(fetched).filter((name) => name.endsWith('.deb'));
    for (const name of packages) call('dpkg-deb', ['-x', name, 'files'], fetched);
    renameSync(join(fetched, 'files'), folder);
  } finally {
    rmSync(fetched, { recursive: true, force: true });
  }
}

/** Where the loader lies in what was fetched; the system's own, if there is one, is as good. */
function loaderFolder() {
  const libraries = join(folder, 'usr/lib');
  const found = readdirSync(libraries, { recursive: true, encoding: 'utf8' }).find((name) =>
    /linux-gnu\/libvulkan\.so\.1$/.test(name),
  );
  if (found === undefined) throw new Error(`no libvulkan.so.1 in ${libraries}`);
  return dirname(join(libraries, found));
}

/** The environment in which the GPU in software is found. Fetches it when it is not there yet. Throws what is in the way. */
export function softwareGpu() {
  if (!existsSync(driver)) {
    mkdirSync(cache, { recursive: true });
    // One fetches, the others wait for it and find what it has fetched.
    const self = fileURLToPath(import.meta.url);
    call('flock', [join(cache, 'lock'), process.execPath, self, '--fetch'], root);
  }
  const path = [loaderFolder(), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return { VK_DRIVER_FILES: driver, VK_ICD_FILENAMES: driver, LD_LIBRARY_PATH: path };
}

function run([command, ...args]) {
  let environment;
  try {
    environment = softwareGpu();
  } catch (error) {
    console.log(`SKIPPED, for want of a GPU in software: ${error.message}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return;
  }
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } });
  process.exitCode = status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === '--fetch') {
    if (!existsSync(driver)) fetchFiles();
  } else if (process.argv.length > 2) run(process.argv.slice(2));
  else for (const [name, value] of Object.entries(softwareGpu())) console.log(`${name}=${value}`);
}
