// A result file that is there whole or not at all: it is written under a temporary name in the same
// folder, and takes its own name only when every byte has reached the disk.

import {
  accessSync,
  close,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  rename,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

/** How names of temporary files end. */
export const TEMPORARY = '.onemem-tmp';
/** A name may have 255 bytes; the longest character has four. */
const MOST_CHARACTERS = 50;

/** How temporary files for a result begin; process number and random digits follow. */
export function temporaryPrefix(path: string): string {
  return join(dirname(path), `.${basename(path).slice(0, MOST_CHARACTERS)}.`);
}

const syncFile = promisify(fsync);
const closeFile = promisify(close);
const renameFile = promisify(rename);

// What is unfinished when the process ends by process.exit or an uncaught error goes then. After
// kill -9 or a power cut the temporary file stays behind (leftovers.ts); the old result is whole
// all the same.
const unfinished = new Set<AtomicFile>();
let exitListener = false;

export class AtomicFile {
  private state: 'open' | 'committing' | 'committed' | 'given up' = 'open';

  private constructor(
    /** The file that commit() replaces, links followed: a link keeps pointing to the result. */
    readonly path: string,
    readonly temporaryPath: string,
    /** Open for reading and writing until commit() or abort(). */
    readonly fd: number,
  ) {}

  static create(file: string): AtomicFile {
    const path = followLinks(file);
    // By the name that was given: a link of /proc to a pipe, as /dev/stdout is one, has no path.
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing && !existing.isFile()) {
      const what = existing.isDirectory() ? 'a folder' : 'no regular file';
      throw refusal(
        'NOT_A_REGULAR_FILE',
        path,
        `${file} is ${what} and cannot be replaced by a result`,
      );
    }
    if (existing && existing.nlink > 1) {
      const what = `${existing.nlink} names (hard links), and only this one would have the result`;
      throw refusal('HARD_LINKS', path, `${file} has ${what}`);
    }
    const { randomBytes } = process.getBuiltinModule('node:crypto');
    const temporaryPath = `${temporaryPrefix(path)}${process.pid}-${randomBytes(6).toString('hex')}${TEMPORARY}`;
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_NOFOLLOW;
    // What replaces a file is never open to more than the file was.
    const fd = openSync(temporaryPath, flags, existing ? 0o600 : 0o666);
    const result = new AtomicFile(path, temporaryPath, fd);
    unfinished.add(result);
    if (!exitListener) {
      exitListener = true;
      process.on('exit', () => {
        for (const left of unfinished) left.remove();
      });
    }
    if (existing) {
      try {
        keepOwner(fd, existing, path, file);
        keepProtected(path, file);
        // After the owner, whose change takes some of these bits away.
        fchmodSync(fd, existing.mode & 0o7777);
      } catch (error) {
        result.abort();
        throw error;
      }
    }
    return result;
  }

  /**
   * Puts the content in place of the old file. When the promise resolves, a power cut no longer
   * loses it; when it rejects, the old file is as it was.
   */
  async commit(): Promise<void> {
    if (this.state !== 'open')
      throw new Error(`${this.path} has been committed or given up already`);
    this.state = 'committing';
    try {
      await syncFile(this.fd);
      await renameFile(this.temporaryPath, this.path);
    } catch (error) {
      this.state = 'open';
      this.abort();
      throw error;
    }
    this.state = 'committed';
    unfinished.delete(this);
    await closeFile(this.fd);
    await syncFolder(dirname(this.path));
  }

  /** Gives the content up; the old file stays. After commit() it does nothing. */
  abort(): void {
    if (this.state !== 'open') return;
    this.state = 'given up';
    unfinished.delete(this);
    this.remove();
    closeSync(this.fd);
  }

  /**
   * Before the process ends, perhaps in the middle of a commit(): returns whether the old file
   * stays as it is. A rename that a thread is yet to do then finds nothing to rename.
   */
  giveUp(): boolean {
    if (this.state === 'open') this.abort();
    else if (this.state === 'committing') return this.remove();
    return this.state === 'given up';
  }

  /**
   * The same where another result that belongs to this one has been put in place: this one is, too,
   * if its content has reached the disk, as the caller says. Returns whether it has been.
   */
  finish(): boolean {
    if (this.state === 'given up') return false;
    if (this.state === 'committed') return true;
    try {
      renameSync(this.temporaryPath, this.path);
    } catch (error) {
      // A thread has renamed it meanwhile, or it cannot be renamed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return !this.giveUp();
    }
    unfinished.delete(this);
    return true;
  }

  [Symbol.dispose](): void {
    this.abort();
  }

  /** Returns whether the temporary file was there. */
  private remove(): boolean {
    try {
      unlinkSync(this.temporaryPath);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return false;
    }
  }
}

/** Why a file is not replaced. */
export type RefusalCode = 'NOT_A_REGULAR_FILE' | 'HARD_LINKS' | 'FILE_OWNER' | 'FILE_NOT_WRITABLE';

/** An error for users: the file cannot be replaced without a loss that they have not asked for. */
function refusal(code: RefusalCode, path: string, what: string): Error {
  return Object.assign(new Error(`${what}; name another file`), { code, path });
}

function keepOwner(fd: number, { uid, gid }: Stats, path: string, file: string): void {
  const made = fstatSync(fd);
  if (made.uid === uid && made.gid === gid) return;
  try {
    fchownSync(fd, uid, gid);
  } catch (error) {
    // EINVAL: an owner from outside of this user namespace.
    if (!['EPERM', 'EINVAL'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    const own = `user ${made.uid} of group ${made.gid}`;
    throw refusal(
      'FILE_OWNER',
      path,
      `${file} belongs to user ${uid} and group ${gid}, which ${own} cannot give a new file`,
    );
  }
}

/** What is protected against writing is not replaced, either, though the folder would allow it. */
function keepProtected(path: string, file: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    throw refusal(
      'FILE_NOT_WRITABLE',
      path,
      `${file} is protected against writing (chmod u+w allows it)`,
    );
  }
}

function followLinks(file: string): string {
  const path = resolve(file);
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // A new file, or a link to one that is not there yet.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    return followLinks(resolve(dirname(path), readlinkSync(path)));
  }
  return path;
}

/** The rename is an entry in the folder, which reaches the disk on its own. */
async function syncFolder(folder: string): Promise<void> {
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await syncFile(fd);
  } catch (error) {
    // Some network file systems cannot sync a folder; the rename holds there as well as it can.
    if (!['EINVAL', 'ENOTSUP', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
  } finally {
    closeSync(fd);
  }
}
