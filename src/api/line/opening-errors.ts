/** Why a space cannot be opened, in words that say what to do. */
import { explainMissing, probeFeatures } from '../../linux/features.js';
import { occupantsOf } from '../../linux/memory/memory.js';
import { descriptorLimit } from '../../linux/processes/process.js';
import { workingFolderIsGone } from '../../linux/processes/working-folder.js';
import { OnememError } from '../values/errors.js';
import { SPACES_OF_DEFAULT } from './space-addresses.js';

/** File descriptors that a space takes while it loads, and for each of its devices. */
const SPACE_DESCRIPTORS = 60;

const DEVICE_DESCRIPTORS = 10;

/** All that programs have. */
const ADDRESSES = 2 ** 47;

/**
 * An error of files that cannot be opened since no descriptors are left; any other as it is.
 * @param what cannot be done, as the beginning of the message
 */
export function descriptorError(what: string, error: unknown): unknown {
  const { code, message: told } = error as { code?: string; message?: string };
  const [shortage] = /\bE[MN]FILE\b/.exec(`${code} ${told}`) ?? [];
  if (shortage === undefined || code === 'DESCRIPTORS') return error;
  const limit = descriptorLimit();
  const remedy =
    shortage === 'EMFILE'
      ? `this process may have ${limit} of them: close files, sockets or spaces, or raise the limit (ulimit -n)`
      : 'the machine has no more: end programs that have files open, or raise fs.file-max';
  const message = `${what}: no file descriptors are left (${shortage}); ${remedy}`;
  return new OnememError('DESCRIPTORS', message, { limit }, { cause: error });
}

/** Descriptors can lack wherever something is opened, also to see how much memory there is. */
export function shortageError(error: Error): Error {
  const { code, message: told } = error as { code?: string; message: string };
  const [shortage] = /\bE[MN]FILE\b/.exec(`${code} ${told}`) ?? [];
  // One that names the limit has been made here.
  if (shortage === undefined || (error as Partial<OnememError>).details?.limit !== undefined)
    return error;
  const limit = descriptorLimit();
  const whose =
    shortage === 'EMFILE'
      ? `this process may have ${limit} of them (ulimit -n)`
      : 'the machine has no more';
  const message =
    `cannot open a space: no file descriptors are left (${shortage}): ${whose}, and a space takes up to ${SPACE_DESCRIPTORS} ` +
    `while it opens, and ${DEVICE_DESCRIPTORS} for each device; close files, sockets or other spaces, or raise the limit`;
  return new OnememError('DESCRIPTORS', message, { limit }, { cause: error });
}

/** Others that run JavaScript stand in for Node.js, and hang where threads share memory as here. */
export function refuseOtherRuntimes(
  versions: Readonly<Record<string, string | undefined>> = process.versions,
): void {
  const other = [
    ['bun', 'Bun'],
    ['deno', 'Deno'],
  ].find(([key]) => versions[key] !== undefined);
  if (other === undefined) return;
  const [key, name] = other;
  const message = `onemem runs on Node.js, and not on ${name} (${versions[key]}); start the program by: node program.js`;
  throw new OnememError('UNSUPPORTED', message, { runtime: key });
}

/** Node.js starts no thread in a missing folder, and says only that a call failed. */
export function checkWorkingFolder(): void {
  if (!workingFolderIsGone()) return;
  const message =
    'cannot open a space: the working folder of this process was removed, in which Node.js starts no thread; ' +
    "go to another one first, as by process.chdir('/')";
  throw new OnememError('WORKING_FOLDER', message);
}

/** Whether threads of this process have spaces, perhaps terminated before they closed them. */
function spacesOfProcess(): boolean {
  return occupantsOf(0, ADDRESSES).some(({ path }) => path.startsWith('/memfd:onemem-host'));
}

export function noAddressesError(): OnememError {
  const message =
    `no addresses are left for another space: a process has room for ${SPACES_OF_DEFAULT} of 1 TiB, ` +
    "counting closed ones with a view in use; open them with addressSpace: '64GiB' (room for more " +
    'than a hundred), or close spaces, those of worker threads before these are terminated, and ' +
    'drop the views of closed ones';
  return new OnememError('ADDRESS_SPACE', message);
}

/**
 * A failure to open usually has a reason that `onemem doctor` names, with its remedy.
 * @param hasOpened whether this thread has opened a space before
 */
export function openingError(error: Error, hasOpened: boolean): Error {
  // What doctor would try out would fail of the same.
  const shortage = shortageError(error);
  if (shortage !== error) return shortage;
  if (hasOpened || spacesOfProcess()) {
    // The machine has what a space needs; only the addresses of other spaces can be in the way.
    if (!error.message.includes('EEXIST')) return error;
    return noAddressesError();
  }
  const features = probeFeatures();
  const reasons = explainMissing(features);
  if (reasons === null) return error;
  const missing = features.filter((feature) => feature.required && !feature.available);
  return new OnememError(
    'UNSUPPORTED',
    `this machine does not offer what onemem needs ('npx onemem doctor' tries everything out):\n  ${reasons.join('\n  ')}`,
    { missing },
    { cause: error },
  );
}
