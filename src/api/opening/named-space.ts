/** Spaces that outlive programs: a process of their own keeps them, and a name leads to them. */
import { fileURLToPath } from 'node:url';
import { commandFile } from '../../linux/own-files.js';
import { sendSignal } from '../../linux/processes/kill.js';
import { nodeBinary } from '../../linux/processes/node-binary.js';
import { listeningNames } from '../../linux/sockets/local-socket.js';
import { namedSocket, type Quota, SPACE_NAME, socketName } from '../../pager/protocol/attaching.js';
import type { AddressSpace as SpaceClass } from '../objects/address-space.js';
import { SpaceLook } from '../objects/look.js';
import { AUTO, hostBytes, memoryLimit, warnOfMemory } from '../options/host-memory.js';
import { type StorageSpecification, storageOf } from '../options/storage.js';
import type { AddressSpace } from '../public.js';
import { show } from '../values/arguments.js';
import { argumentError, OnememError } from '../values/errors.js';
import { attachSpace } from './attach.js';

/** How long the keeper of a space may take to answer. */
const ANSWER_MS = 10_000;
/** How long it may take to close the space. */
const END_MS = 15_000;
const LOOK_MS = 20;
/** Another program may start the space at the same moment, or end it. */
const TRIES = 3;

/** What a space gets that is started. */
export interface NamedSpaceOptions {
  readonly hostMemory?: number | string;
  readonly storage?: StorageSpecification | boolean;
}

/** What the process says that was started: the space is there, or why it is not. */
export type NamedSpaceAnswer =
  | { readonly ready: true }
  | { readonly error: { readonly code: string; readonly message: string } };

/** Attaches to the space of this name, and starts it if there is none. */
export async function openNamed(name: string, options: NamedSpaceOptions): Promise<AddressSpace> {
  const args = startArguments(checkSpaceName(name), options);
  for (let tries = 0; tries < TRIES; tries++) {
    const space = attachNamed(name);
    if (space !== null) return space;
    await start(name, args);
    // The keeper's own warning is not shown.
    warnOfSize(options.hostMemory);
  }
  throw new OnememError('SPACE_NAME', `another user has taken the name ${name}; use another one`);
}

/** The space of this name; null: there is none. */
export function attachNamed(name: string): AddressSpace | null {
  using look = lookAt(name);
  if (look === null) return null;
  return attachSpace(look.ask('shareSpace', { rights: 'write', ranges: null }).handle);
}

/** Has programs of this user find a space by a name, which it keeps as long as this process. */
export async function nameSpace(
  space: AddressSpace,
  name: string,
  quotas: readonly Quota[],
): Promise<void> {
  await (space as SpaceClass).client.request('nameSpace', { name: checkSpaceName(name), quotas });
}

/** Ends the space of this name. False: there is none. */
export async function endNamed(name: string): Promise<boolean> {
  using look = lookAt(name);
  if (look === null) return false;
  sendSignal(look.owner, 'SIGTERM');
  const socket = socketName(namedSocket(process.geteuid?.() ?? 0, name));
  for (let waited = 0; listeningNames(socket).includes(socket); waited += LOOK_MS) {
    if (waited > END_MS)
      throw new OnememError(
        'OWNER_BUSY',
        `process ${look.owner} has not closed the space within ${END_MS / 1000} s; end it by: kill -9 ${look.owner}`,
      );
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return true;
}

export function checkSpaceName(name: unknown): string {
  if (typeof name === 'string' && SPACE_NAME.test(name)) return name;
  throw argumentError(
    'SPACE_NAME',
    `the name of a space is ${show(name)}; it must be 1 to 64 letters, digits, '.', '_' or '-', and not begin with '.'`,
  );
}

function lookAt(name: string): SpaceLook | null {
  return SpaceLook.at(namedSocket(process.geteuid?.() ?? 0, name), null, ANSWER_MS);
}

function startArguments(name: string, { hostMemory, storage }: NamedSpaceOptions): string[] {
  const args = ['serve', '--name', name];
  if (hostMemory !== undefined)
    args.push('--host-memory', hostMemory === AUTO ? AUTO : String(hostBytes(hostMemory)));
  if (storage === undefined) return args;
  const place = storageOf(storage);
  return [...args, '--storage', place === null ? 'none' : `${place.path}:${place.bytes}`];
}

function warnOfSize(hostMemory: number | string | undefined): void {
  if (hostMemory === undefined || hostMemory === AUTO) return;
  warnOfMemory(hostBytes(hostMemory), memoryLimit(), true, []);
}

/** Resolves when the space is there, whichever program started it. */
function start(name: string, args: readonly string[]): Promise<void> {
  const { spawn } = process.getBuiltinModule('node:child_process');
  const child = spawn(nodeBinary(), [fileURLToPath(commandFile()), ...args], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new OnememError('SPACE_START', `cannot start space ${name}: ${why}`, { space: name }));
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`its process ended (${signal ?? code})`));
    child.once('message', (answer: NamedSpaceAnswer) => {
      child.removeAllListeners('exit');
      child.disconnect();
      child.unref();
      if ('ready' in answer || answer.error.code === 'SPACE_NAME') resolve();
      else fail(answer.error.message);
    });
  });
}
