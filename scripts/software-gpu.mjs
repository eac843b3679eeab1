// A GPU in software for tests of `kind: 'webgpu'`: SwiftShader out of Debian's package of Chromium, and the Vulkan loader, in
// node_modules/.cache. They are no dependencies of the project, and nothing of them is in its package.
//
//   node scripts/software-gpu.mjs                  prints the environment that has programs use it: NAME=value, a line each
//   node scripts/software-gpu.mjs COMMAND ...      runs a command in this environment; says aloud that it does not, where there is no such GPU

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { debianFiles, libraryFolder } from './debian-packages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** chromium-common has SwiftShader and its description; libvulkan1 what finds drivers by such descriptions. */
const PACKAGES = ['chromium-common', 'libvulkan1'];

/** The environment in which the GPU in software is found. Fetches it when it is not there yet. Throws what is in the way. */
function softwareGpu() {
  const folder = debianFiles('software-gpu', PACKAGES);
  const driver = join(folder, 'usr/lib/chromium/vk_swiftshader_icd.json');
  const path = [libraryFolder(folder, 'libvulkan.so.1'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
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

if (process.argv.length > 2) run(process.argv.slice(2));
else for (const [name, value] of Object.entries(softwareGpu())) console.log(`${name}=${value}`);
