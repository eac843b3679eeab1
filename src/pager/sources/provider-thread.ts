/**
 * The thread of one provider: it loads the user's module and calls its function for each part that
 * is wanted. The function writes to memory that belongs to its call alone, and what it wrote is
 * copied to the staging memory when the call has ended well: nothing that it does later, or after a
 * failure, can appear in the array.
 */
import { readlinkSync } from 'node:fs';
import { types } from 'node:util';
import { workerData } from 'node:worker_threads';
import { bytesOf, viewOf } from '../../core/basics/elements.js';
import { printAtOnce } from '../../drivers/user-output.js';
import { kernelError } from '../../messages/kernel-error.js';
import { missingModule } from '../../messages/missing-module.js';
import type {
  FillFunction,
  FromProvider,
  ProviderFailure,
  ProviderThreadData,
  ToProvider,
} from '../protocol/providers.js';
import { poolRequests } from './pool-watch.js';
import { wakeManager } from './wake-manager.js';

const {
  url,
  exportName,
  data,
  array,
  port,
  staging,
  placeBytes,
  marks: shared,
  wakeFd,
} = workerData as ProviderThreadData;
const staged = new Uint8Array(staging);
const marks = new Int32Array(shared);
const ENDED = marks.length - 1;
const elementBytes = bytesOf(array.type);

printAtOnce();

class Refusal extends Error {}

/** A text is what it takes, and anything may be what it is given. */
function refuse(reason?: unknown): never {
  throw new Refusal(reason === undefined ? 'no reason was given' : kernelError(reason).message);
}

/** By the file system: the foreign function interface leaves memory in each thread. */
function ownThread(): number {
  return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
}

function tell(message: FromProvider): void {
  port.postMessage(message);
  wakeManager(wakeFd);
}

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof Refusal) return { refused: true, message: error.message };
  const { name, message, stack } = kernelError(error);
  if (!types.isNativeError(error)) return { refused: false, message: `threw ${message}` };
  return {
    refused: false,
    message: `threw ${name}: ${message}`,
    ...(stack === '' ? {} : { stack }),
  };
}

async function load(): Promise<FillFunction> {
  const module = (await import(url)) as Record<string, unknown>;
  const value = module[exportName];
  if (typeof value === 'function') return value as FillFunction;
  const names = Object.keys(module).join(', ') || 'nothing';
  throw new TypeError(
    `module ${url} has no function as export '${exportName}'; it exports ${names}`,
  );
}

/** The content as the function gave it: what it returned, or else the memory that it was handed. */
function contentOf(given: unknown, bytes: Uint8Array, byteLength: number): Uint8Array {
  let content = bytes;
  if (ArrayBuffer.isView(given))
    content = new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  else if (types.isAnyArrayBuffer(given)) content = new Uint8Array(given);
  else if (given !== undefined) {
    throw new TypeError(
      `it returned ${given === null ? 'null' : typeof given}; it may return bytes, or nothing`,
    );
  }
  if (content.byteLength === byteLength) return content;
  const what = content === bytes ? 'left its memory with' : 'returned';
  throw new RangeError(`it ${what} ${content.byteLength} bytes where ${byteLength} were asked for`);
}

function end(answer: FromProvider): void {
  // Counted before the message is on its way: the manager, which sees this thread in a fault, knows
  // whether it went there afterwards.
  Atomics.add(marks, ENDED, 1);
  tell(answer);
}

async function fill(
  provide: FillFunction,
  { place, byteOffset, byteLength }: Exclude<ToProvider, string>,
): Promise<void> {
  Atomics.store(marks, place, 1);
  try {
    const bytes = new Uint8Array(byteLength);
    const begin = byteOffset / elementBytes;
    const given = await provide({
      bytes,
      values: viewOf(array.type, bytes.buffer),
      byteOffset,
      byteLength,
      begin,
      end: begin + byteLength / elementBytes,
      data,
      array,
      refuse,
    });
    staged.set(contentOf(given, bytes, byteLength), place * placeBytes);
    end({ place, failure: null });
  } catch (error) {
    end({ place, failure: failureOf(error) });
  }
}

try {
  const provide = await load();
  port.on('message', (message: ToProvider) => {
    // With exit rather than by terminate: what the module attached to hears of it.
    if (message === 'end') process.exit(0);
    if (message === 'pool') tell({ poolRequests: poolRequests(process.getActiveResourcesInfo()) });
    else void fill(provide, message);
  });
  tell({ thread: ownThread() });
} catch (error) {
  const missing = missingModule(url, error);
  const failure =
    missing === null
      ? failureOf(error)
      : { refused: false, message: `cannot be loaded: ${missing}` };
  tell({ unusable: failure });
}
