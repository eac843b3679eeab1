/** The files of a run: which elements they hold, and where results go. */

import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  openSync,
  read,
  readSync,
  statfsSync,
  statSync,
  write,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { allocateResult } from '../../api/objects/result-array.js';
import type { AtomicFile, RefusalCode } from '../../files/atomic-file.js';
import { createResult } from '../../files/leftovers.js';
import {
  type ArrayLayout,
  type Dtype,
  dtypes,
  npyHeader,
  rawLayout,
  readNpyLayout,
} from '../../files/npy.js';
import type { ManagedArray } from '../../index.js';
import { CommandError, explainTransfer, fileProblem, UsageError } from '../terminal/failure.js';
import { formatBytes } from '../terminal/format.js';
import { warn } from '../terminal/output.js';

const syncFile = promisify(fsync);
const readFile = promisify(read);
const writeFile = promisify(write);

/** PATH; PATH:TYPE for a file without a header; for results also PATH:SHAPE. */
export interface FileName {
  readonly path: string;
  /** The stated type of a raw file; null for a `.npy` file. */
  readonly raw: Dtype | null;
  readonly shape: readonly number[] | null;
}

/** A colon in a path is a part of the path unless a type or a shape follows it at the end. */
export function parseFileName(text: string): FileName {
  const [, path = text, type, shape] =
    /^(.+?)(?::([iuf]\d+))?(?::(\d+(?:x\d+)*))?$/.exec(text) ?? [];
  if (type !== undefined && !Object.hasOwn(dtypes, type)) {
    const known = Object.keys(dtypes).join(', ');
    throw new UsageError(`${text}: '${type}' is no element type of a file; there are ${known}`);
  }
  return {
    path,
    raw: (type as Dtype | undefined) ?? null,
    shape: shape === undefined ? null : shape.split('x').map(Number),
  };
}

export interface InputFile extends ArrayLayout {
  readonly path: string;
  readonly raw: boolean;
  /** Which file it is, whatever gets its name meanwhile. */
  readonly dev: number;
  readonly ino: number;
  /** What stands before the elements, for a result of the same kind. */
  readonly header: Uint8Array;
}

/** Reads what a file says about itself, and none of its elements. */
export function openInput({ path, raw, shape }: FileName): InputFile {
  if (shape !== null) {
    throw new CommandError(
      'FILE_SHAPE',
      `${path}: a shape can be stated for --out only; a file that is read has its own`,
    );
  }
  // To open a pipe that no program writes must not stop the command: it is refused once it is open.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { dev, ino } = fstatSync(fd);
    if (raw !== null) {
      refuseHeader(fd, path, raw);
      return { ...rawLayout(fd, raw, path), path, raw: true, dev, ino, header: new Uint8Array() };
    }
    const layout = readNpyLayout(fd, path);
    const header = new Uint8Array(layout.dataOffset);
    readSync(fd, header, 0, header.length, 0);
    return { ...layout, path, raw: false, dev, ino, header };
  } finally {
    closeSync(fd);
  }
}

/** The header of a `.npy` file would be taken for elements without a word. */
function refuseHeader(fd: number, path: string, type: Dtype): void {
  // What is said of others than regular files is said by their layout.
  if (!fstatSync(fd).isFile()) return;
  const start = Buffer.alloc(6);
  if (readSync(fd, start, 0, 6, 0) === 6 && start.toString('latin1') === '\x93NUMPY') {
    throw new CommandError(
      'FILE_TYPE',
      `${path} is a .npy file and states its type itself; leave out ':${type}'`,
    );
  }
}

export interface Result {
  readonly parameter: string;
  /** As the command line names it. */
  readonly path: string;
  /** What its elements are before the launch; null: zeros. */
  readonly from: InputFile | null;
  readonly header: Uint8Array;
  /** Of its elements. */
  readonly bytes: number;
  /**
   * Whether the device writes the kernel's memory of the temporary file, which is made as long as
   * it will be before the launch. The others are written when all is done.
   */
  readonly inPlace: boolean;
}

interface OpenResult {
  readonly result: Result;
  readonly file: AtomicFile;
  array: ManagedArray | null;
}

/** Such pieces get large pages in the page cache; those of copy_file_range are small. */
const COPY_BYTES = 4 * 2 ** 20;
const COPIES = 2;

export function headerOf(type: Dtype, shape: readonly number[], raw: boolean): Uint8Array {
  return raw ? new Uint8Array() : npyHeader(type, shape);
}

/** A failure names the result, and not the temporary file that stands for it. */
function createFile({ parameter, path }: Result): AtomicFile {
  try {
    return createResult(path, (left) =>
      warn(`removed ${left.path} (${formatBytes(left.bytes)}), which a killed run left`),
    );
  } catch (error) {
    const { code = '', errno, message } = error as NodeJS.ErrnoException;
    if (errno === undefined) {
      throw new CommandError(
        code as RefusalCode,
        `${message} (--save ${parameter}=FILE for an --inout)`,
        { cause: error },
      );
    }
    const problem = code === 'ENOENT' ? 'there is no such folder' : fileProblem(errno);
    throw new CommandError('RESULT_FILE', `cannot write ${path}: ${problem}`, { cause: error });
  }
}

/** @param at in both files */
async function copyPiece(from: number, to: number, piece: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < piece.length; ) {
    const { bytesRead } = await readFile(from, piece, done, piece.length - done, at + done);
    if (bytesRead === 0)
      throw new CommandError('FILE_CHANGED', 'the file that is read became shorter');
    done += bytesRead;
  }
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await writeFile(to, piece, done, piece.length - done, at + done);
    done += bytesWritten;
  }
}

/** Result files take their names together at the end: all or none, if the file system can. */
export class ResultFiles {
  private readonly open: OpenResult[] = [];
  private filling: Promise<void> = Promise.resolve();
  private isOver = false;

  /** Before the work: a folder that cannot be written, or a full disk, is better known now. */
  create(result: Result): void {
    const file = createFile(result);
    const twin = this.open.find((each) => each.file.path === file.path);
    this.open.push({ result, file, array: null });
    if (twin !== undefined) {
      throw new CommandError(
        'SAME_RESULT',
        `${twin.result.parameter} and ${result.parameter} would both be written to ${result.path}; name another file for one`,
      );
    }
  }

  /** Throws where a disk has too little room for what will be written to it. */
  checkRoom(): void {
    const needs = new Map<number, number>();
    for (const { result, file } of this.open) {
      const folder = dirname(file.path);
      const disk = statSync(folder).dev;
      const needed = (needs.get(disk) ?? 0) + result.header.length + result.bytes;
      needs.set(disk, needed);
      const { bavail, bsize } = statfsSync(folder);
      if (needed <= bavail * bsize) continue;
      throw new CommandError(
        'DISK_SPACE',
        `the results need ${formatBytes(needed)} on the disk of ${folder}, which has ${formatBytes(bavail * bsize)} left; ` +
          'make room, or write them elsewhere (--save NAME=FILE for an --inout)',
      );
    }
  }

  /** Begins to make the files of results that are written in place, in other threads. */
  fill(): void {
    this.filling = this.fillAll();
    // It is told of where it is awaited.
    this.filling.catch(() => undefined);
  }

  private async fillAll(): Promise<void> {
    for (const { result, file } of this.open) {
      if (!result.inPlace) continue;
      try {
        writeSync(file.fd, result.header, 0, result.header.length, 0);
        if (result.from === null)
          allocateResult(file.fd, result.path, result.header.length + result.bytes);
        else await this.copy(result.from, file.fd);
      } catch (error) {
        throw new CommandError('FILE_IO', explainTransfer(result.path, error), { cause: error });
      }
    }
  }

  /** The elements stand where the file has them that they come from. */
  private async copy({ path, dataOffset, byteLength }: InputFile, to: number): Promise<void> {
    const from = openSync(path, constants.O_RDONLY);
    const end = dataOffset + byteLength;
    let next = 0;
    const copyPieces = async (): Promise<void> => {
      const piece = Buffer.allocUnsafeSlow(Math.min(COPY_BYTES, end));
      while (next < end && !this.isOver) {
        const at = next;
        next += piece.length;
        await copyPiece(from, to, piece.subarray(0, Math.min(piece.length, end - at)), at);
      }
    };
    try {
      const copies = await Promise.allSettled(Array.from({ length: COPIES }, copyPieces));
      for (const each of copies) if (each.status === 'rejected') throw each.reason;
    } finally {
      closeSync(from);
    }
  }

  async filled(): Promise<void> {
    await this.filling;
  }

  /** Before the files are closed: no thread may write them then. */
  async stopFilling(): Promise<void> {
    this.isOver = true;
    await this.filling.catch(() => undefined);
  }

  /** Tells in which array the elements of a result are. */
  keepIn(parameter: string, array: ManagedArray): void {
    for (const each of this.open) if (each.result.parameter === parameter) each.array = array;
  }

  /** Where the elements of a result are, if it is written in place. */
  placeOf(parameter: string): { fd: number; path: string; byteOffset: number } | null {
    const found = this.open.find(({ result }) => result.parameter === parameter);
    if (found === undefined || !found.result.inPlace) return null;
    const { result, file } = found;
    return { fd: file.fd, path: result.path, byteOffset: result.header.length };
  }

  async write(onFile: (path: string) => void): Promise<void> {
    for (const { result, file, array } of this.open) {
      const { path, header, bytes, inPlace } = result;
      onFile(path);
      try {
        // Nothing is left to be flushed unless the device could not map the file.
        if (inPlace) await array?.flush();
        else {
          writeSync(file.fd, header, 0, header.length, 0);
          const written = await array?.writeTo(file.fd, { position: header.length });
          if (written !== bytes) {
            throw new CommandError('FILE_IO', `only ${written} of ${bytes} bytes could be written`);
          }
        }
        // The slow part of a commit; once all are on the disk, the names change within a moment.
        await syncFile(file.fd);
      } catch (error) {
        throw new CommandError('FILE_IO', explainTransfer(path, error), { cause: error });
      }
    }
    for (const { file } of this.open) await file.commit();
  }

  /** Removes what is unfinished; nothing after a complete write(). */
  [Symbol.dispose](): void {
    for (const { file } of this.open) file.abort();
  }

  /** For the report. */
  get written(): { parameter: string; file: string; bytes: number }[] {
    return this.open.map(({ result: { parameter, path, bytes, header } }) => ({
      parameter,
      file: path,
      bytes: header.length + bytes,
    }));
  }

  /**
   * Before the process ends, at any time: what is unfinished is removed, unless one of the results
   * has been put in place, by when all have reached the disk. The words say what has become of the
   * files.
   */
  giveUp(): string {
    const [replaced, kept]: string[][] = [[], []];
    for (const { result, file } of this.open) {
      const inPlace = replaced.length > 0 ? file.finish() : !file.giveUp();
      (inPlace ? replaced : kept).push(result.path);
    }
    const say = (paths: readonly string[], one: string, several: string): string[] =>
      paths.length === 0 ? [] : [`${paths.join(', ')} ${paths.length === 1 ? one : several}`];
    const parts = [
      ...say(replaced, 'has its result', 'have their results'),
      ...say(kept, 'is as before', 'are as before'),
    ];
    return parts.join('; ') || 'nothing was written';
  }
}
