// GPUs in software for tests of `kind: 'webgpu'`, in node_modules/.cache with the Vulkan loader:
// SwiftShader out of Debian's package of Chromium, and lavapipe, Mesa's, out of Debian's backports,
// whose limits, alignments and features are others. They are no dependencies of the project, and
// nothing of them is in its package.
//
//   node scripts/software-gpu.mjs                      prints the environment that has programs use it: NAME=value, a line each
//   node scripts/software-gpu.mjs COMMAND ...          runs a command here, in this environment; says aloud that it does not, where there is no such GPU
//   node scripts/software-gpu.mjs --gpu lavapipe ...   the same with that one

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { debianFiles, libraryFolder } from './debian-packages.mjs';

/** libvulkan1 finds drivers by their descriptions. */
const GPUS = {
  swiftshader: {
    files: () => debianFiles('software-gpu', ['chromium-common', 'libvulkan1']),
    description: 'usr/lib/chromium/vk_swiftshader_icd.json',
  },
  // Dawn refuses the one in bookworm, which is older. The newer libdrm2 is one that it needs and
  // the machine may have an older one of.
  lavapipe: {
    files: () =>
      debianFiles(
        'lavapipe',
        ['mesa-vulkan-drivers', 'libdrm2', 'libvulkan1'],
        'bookworm-backports',
      ),
    description: 'usr/share/vulkan/icd.d/lvp_icd.json',
  },
};

/**
 * The environment in which the GPU in software is found. Fetches it when it is not there yet.
 * Throws what is in the way.
 */
function softwareGpu({ files, description }) {
  const folder = files();
  const driver = join(folder, description);
  const path = [libraryFolder(folder, 'libvulkan.so.1'), process.env.LD_LIBRARY_PATH]
    .filter(Boolean)
    .join(':');
  return { VK_DRIVER_FILES: driver, VK_ICD_FILENAMES: driver, LD_LIBRARY_PATH: path };
}

function run(name, [command, ...args]) {
  let environment;
  try {
    environment = softwareGpu(GPUS[name]);
  } catch (error) {
    console.log(`SKIPPED, for want of a GPU in software (${name}): ${error.message}`);
    console.log('0 passed, 0 failed, 1 skipped');
    return;
  }
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (error !== undefined) console.error(`cannot run ${command}: ${error.message}`);
  process.exitCode = status ?? 1;
}

const [option, chosen, ...others] = process.argv.slice(2);
const [name, command] =
  option === '--gpu' ? [chosen, others] : ['swiftshader', process.argv.slice(2)];
if (!Object.hasOwn(GPUS, name ?? '')) {
  console.error(`no GPU in software is called ${name}; there are: ${Object.keys(GPUS).join(', ')}`);
  process.exitCode = 2;
} else if (command.length > 0) run(name, command);
else
  for (const [key, value] of Object.entries(softwareGpu(GPUS[name])))
    console.log(`${key}=${value}`);
