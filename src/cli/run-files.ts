/** The files of a run: which elements they hold, and where results go. */

import { closeSync, constants, fstatSync, fsync, openSync, readSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { AtomicFile, RefusalCode } from '../files/atomic-file.js';
import { createResult } from '../files/leftovers.js';
import { type ArrayLayout, type Dtype, dtypes, npyHeader, rawLayout, readNpyLayout } from '../files/npy.js';
import type { ManagedArray } from '../index.js';
import { CommandError, explainTransfer, fileProblem, UsageError } from './failure.js';
import { formatBytes } from './format.js';
import { warn } from './output.js';

const syncFile = promisify(fsync);

/** A file as the command line names it: PATH, PATH:TYPE for a file without a header, and for results PATH:SHAPE. */
export interface FileName {
  readonly path: string;
  /** The stated type of a raw file; null for a `.npy` file. */
  readonly raw: Dtype | null;
  readonly shape: readonly number[] | null;
}

/** A colon in a path is a part of the path unless a type or a shape follows it at the end. */
export function parseFileName(text: string): FileName {
  const [, path = text, type, shape] = /^(.+?)(?::([iuf]\d+))?(?::(\d+(?:x\d+)*))?$/.exec(text) ?? [];
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
    if (raw !== null) {
      refuseHeader(fd, path, raw);
      return { ...rawLayout(fd, raw, path), path, raw: true, header: new Uint8Array() };
    }
    const layout = readNpyLayout(fd, path);
    const header = new Uint8Array(layout.dataOffset);
    readSync(fd, header, 0, header.length, 0);
    return { ...layout, path, raw: false, header };
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
    throw new CommandError('FILE_TYPE', `${path} is a .npy file and states its type itself; leave out ':${type}'`);
  }
}

export interface Result {
  readonly parameter: string;
  /** As the command line names it. */
  readonly path: string;
  readonly array: ManagedArray;
  readonly header: Uint8Array;
}

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
      throw new CommandError(code as RefusalCode, `${message} (--save ${parameter}=FILE for an --inout)`, [], {
        cause: error,
      });
    }
    const problem = code === 'ENOENT' ? 'there is no such folder' : fileProblem(errno);
    throw new CommandError('RESULT_FILE', `cannot write ${path}: ${problem}`, [], { cause: error });
  }
}

/** Result files, all of them or none as far as a file system can promise it: they take their names together at the end. */
export class ResultFiles {
  private readonly open: { result: Result; file: AtomicFile }[] = [];

  /** Before the work: a folder that cannot be written, or a full disk, is better known now. */
  create(result: Result): void {
    const file = createFile(result);
    const twin = this.open.find((each) => each.file.path === file.path);
    this.open.push({ result, file });
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
      const needed = (needs.get(disk) ?? 0) + result.header.length + result.array.byteLength;
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

  async write(onFile: (path: string) => void): Promise<void> {
    for (const { result, file } of this.open) {
      const { path, array, header } = result;
      onFile(path);
      try {
        writeSync(file.fd, header, 0, header.length, 0);
        const written = await array.writeTo(file.fd, { position: header.length });
        if (written !== array.byteLength) {
          throw new CommandError('FILE_IO', `only ${written} of ${array.byteLength} bytes could be written`);
        }
        // The slow part of a commit; once all are on the disk, the names change within a moment.
        await syncFile(file.fd);
      } catch (error) {
        throw new CommandError('FILE_IO', explainTransfer(path, error), [], { cause: error });
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
    return this.open.map(({ result: { parameter, path, array, header } }) => ({
      parameter,
      file: path,
      bytes: header.length + array.byteLength,
    }));
  }

  /**
   * Before the process ends, at any time: what is unfinished is removed, unless one of the results has been put in place, by when all have reached the
   * disk. The words say what has become of the files.
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
