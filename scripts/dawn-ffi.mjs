// Runs a command with GPUs driven by Dawn's C functions (transport 'dawn-ffi'). The package that
// has them is for x64 alone, so that it is no dependency of the project: the command finds it by
// NODE_PATH.
//
//   node scripts/dawn-ffi.mjs COMMAND ...      says aloud that it does not, where there is no such library

import { spawnSync } from 'node:child_process';
import { fetchedPackage } from './fetched-package.mjs';

const NAME = 'bun-webgpu-linux-x64';
const VERSION = '0.1.7';

const [command, ...args] = process.argv.slice(2);
let folder;
try {
  if (process.arch !== 'x64') throw new Error(`${NAME} is for x64, and this is ${process.arch}`);
  folder = fetchedPackage(NAME, VERSION);
} catch (error) {
  console.log(`SKIPPED, for want of Dawn's C functions: ${error.message}`);
  console.log('0 passed, 0 failed, 1 skipped');
}
if (folder !== undefined) {
  const path = [folder, process.env.NODE_PATH].filter(Boolean).join(':');
  const env = { ...process.env, NODE_PATH: path, ONEMEM_WEBGPU_TRANSPORT: 'dawn-ffi' };
  process.exitCode = spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
}
