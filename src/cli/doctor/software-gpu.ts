/** `onemem gpu --software`: a program on a GPU in software, where the machine has none. */

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { join } from 'node:path';
import { signalChild } from '../../linux/processes/kill.js';
import type { Command } from '../terminal/command.js';
import { CommandError, UsageError } from '../terminal/failure.js';
import { parseOptions } from '../terminal/options.js';

const GPU_SUMMARY = 'run a program on a GPU in software, where the machine has none';

/** SwiftShader out of Debian's package of Chromium, and the loader of Vulkan. */
const PACKAGES = ['chromium-common', 'libvulkan1'];
const BY_HAND =
  `by hand: apt-get install ${PACKAGES.join(' ')}, and VK_DRIVER_FILES and VK_ICD_FILENAMES set to the path of ` +
  'vk_swiftshader_icd.json, with the folder of libvulkan.so.1 in LD_LIBRARY_PATH where it is not installed';

const GPU_HELP = `onemem gpu --software [--fetch] -- COMMAND ...

${GPU_SUMMARY.replace(/^./, (first) => first.toUpperCase())}. It sets the variables by which
WebGPU finds SwiftShader, a GPU in software (Vulkan), and ends as COMMAND does. That GPU is slow: it
is for tests, and for machines without a GPU. The program needs the package webgpu.

What is installed is used first (Chromium's package of Debian has it), then what was fetched.

  --software   the GPU in software; there is no other one yet
  --fetch      downloads Debian's ${PACKAGES.join(' and ')} where they are needed,
               into ~/.cache/onemem (XDG_CACHE_HOME); takes apt-get and dpkg-deb
  -h, --help

Examples
  onemem gpu --software --fetch -- node program.js
  onemem gpu --software -- npx onemem doctor`;

/** Where drivers describe themselves, and libraries lie, below a root. */
const DESCRIPTIONS = ['usr/lib/chromium', 'usr/lib/chromium-browser', 'usr/share/vulkan/icd.d'];
const DESCRIPTION = 'vk_swiftshader_icd.json';
const LOADER = 'libvulkan.so.1';

interface Found {
  readonly description: string;
  readonly libraries: string;
}

function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'onemem', 'software-gpu');
}

/** The folder of the loader below a root: Debian has one for each architecture. */
function loaderFolder(root: string): string | null {
  const base = join(root, 'usr/lib');
  if (!existsSync(base)) return null;
  const folders = readdirSync(base).filter((name) => name.endsWith('linux-gnu'));
  return (
    [...folders.map((name) => join(base, name)), join(root, 'usr/lib64'), base].find((folder) =>
      existsSync(join(folder, LOADER)),
    ) ?? null
  );
}

function find(): Found | null {
  const roots = ['/', join(cacheFolder(), 'files')];
  const description = roots
    .flatMap((root) => DESCRIPTIONS.map((folder) => join(root, folder, DESCRIPTION)))
    .find((path) => existsSync(path));
  const libraries = roots.map(loaderFolder).find((folder) => folder !== null);
  return description === undefined || libraries === undefined ? null : { description, libraries };
}

function call(command: string, args: readonly string[], cwd: string): void {
  const { status, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status === 0) return;
  const why = error?.message ?? (stderr.trim() || `exit code ${status}`);
  throw new CommandError('GPU_SOFTWARE', `${command} ${args.join(' ')} failed: ${why}; ${BY_HAND}`);
}

/** Takes its name only when everything is in it. */
function fetchPackages(): void {
  const cache = cacheFolder();
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'fetching-'));
  try {
    call('apt-get', ['download', '--quiet', ...PACKAGES], folder);
    for (const name of readdirSync(folder)) call('dpkg-deb', ['-x', name, 'files'], folder);
    rmSync(join(cache, 'files'), { recursive: true, force: true });
    renameSync(join(folder, 'files'), join(cache, 'files'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function environment({ description, libraries }: Found): NodeJS.ProcessEnv {
  const path = [libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':');
  return {
    ...process.env,
    VK_DRIVER_FILES: description,
    VK_ICD_FILENAMES: description,
    LD_LIBRARY_PATH: path,
  };
}

async function runWith(
  env: NodeJS.ProcessEnv,
  [command, ...args]: readonly string[],
): Promise<number> {
  const child = spawn(command, args, { stdio: 'inherit', env });
  // The terminal sends it to both: the program decides.
  const ignore = (): void => undefined;
  const passOn = (): boolean => signalChild(child, 'SIGTERM');
  process.on('SIGINT', ignore);
  process.on('SIGTERM', passOn);
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
  } catch (error) {
    throw new CommandError('GPU_SOFTWARE', `cannot run ${command}: ${(error as Error).message}`);
  } finally {
    process.off('SIGINT', ignore);
    process.off('SIGTERM', passOn);
  }
}

export async function gpu(args: readonly string[]): Promise<number> {
  const at = args.indexOf('--');
  const { values, positionals } = parseOptions('gpu', at < 0 ? args : args.slice(0, at), {
    software: { type: 'boolean' },
    fetch: { type: 'boolean' },
  });
  const command = at < 0 ? [] : args.slice(at + 1);
  if (!values.software || positionals.length > 0 || command.length === 0)
    throw new UsageError(
      'write onemem gpu --software [--fetch] -- COMMAND ...; see: onemem gpu --help',
    );
  if (find() === null && values.fetch) fetchPackages();
  const found = find();
  if (found === null)
    throw new CommandError(
      'GPU_SOFTWARE',
      `no GPU in software is here: --fetch gets one, on Debian and its like; ${BY_HAND}`,
    );
  return runWith(environment(found), command);
}

export const command: Command = { summary: GPU_SUMMARY, help: GPU_HELP, main: gpu };
