/** How the process of a device is started, and why it could not be. */
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { knownBinary } from '../../linux/base/koffi-binary.js';
import { nodeBinary } from '../../linux/processes/node-binary.js';
import { workingFolderIsGone } from '../../linux/processes/working-folder.js';
import { startUnbound } from '../../linux/threads/affinity.js';
import { LIMITS } from '../../linux/threads/threads.js';
import { STANDARD_ERROR } from '../user-output.js';

/** A child that runs: Node.js knows its number. */
export type StartedChild = ChildProcess & { readonly pid: number };

/**
 * @param program the module that it runs
 * @param nodeOptions options of Node.js
 * @param descriptors those that it gets, from 3 on
 */
export function startChild(
  program: URL,
  nodeOptions: readonly string[],
  descriptors: readonly number[],
): StartedChild {
  const binary = knownBinary();
  const args = [...nodeOptions, fileURLToPath(program), ...(binary === undefined ? [] : [binary])];
  // Loaded with the first device: a space without any needs no processes.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = startUnbound(() =>
    spawn(nodeBinary(), args, {
      // Standard output is the program's alone: what a device prints there goes to standard error.
      stdio: ['ignore', STANDARD_ERROR, STANDARD_ERROR, ...descriptors],
      // Node.js starts no thread in a folder that is not there any more.
      ...(workingFolderIsGone() ? { cwd: '/' } : {}),
    }),
  );
  if (child.pid !== undefined) return child as StartedChild;
  // Node.js tells the reason later, when it is too late for the error that is thrown here.
  child.once('error', () => undefined);
  throw new Error(`the process ${process.execPath} could not be started; ${LIMITS}`);
}
