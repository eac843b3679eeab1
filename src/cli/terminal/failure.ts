/** What goes wrong in a command, in the words that its user sees. */

import { getSystemErrorMap } from 'node:util';
import type { OnememErrorCode } from '../../messages/error-codes.js';
import type { CommandErrorCode } from './command-codes.js';

/** Failures of files keep the code that Node.js gives them, such as ENOENT. */
type FailureCode = CommandErrorCode | OnememErrorCode | `E${string}`;

/** The command line itself is wrong; the command ends with 2, as shells' own do. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The command could not be carried out; it ends with 1. `trace` are lines for its user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  readonly trace: readonly string[];

  constructor(
    readonly code: FailureCode,
    message: string,
    { trace = [], ...options }: ErrorOptions & { readonly trace?: readonly string[] } = {},
  ) {
    super(message, options);
    this.trace = trace;
  }
}

/** What each kind of failure of a file is called, and what can be done about it. */
const FILE_PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is no folder',
  EISDIR: 'it is a folder; name a file',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'its file system is read-only; name another folder',
  ENOSPC: 'no space is left on its disk; make room, or name another folder',
  EDQUOT: 'the disk quota is used up; make room, or name another folder',
  EFBIG:
    'the file would be larger than this process may write; raise the limit (ulimit -f, LimitFSIZE= of systemd)',
  EMFILE: 'too many files are open; raise the limit (ulimit -n)',
  ELOOP: 'symbolic links go round in a circle',
  ENAMETOOLONG: 'the name is too long',
};

export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { path, errno } = error as NodeJS.ErrnoException;
  return path !== undefined && errno !== undefined
    ? `${path}: ${fileProblem(errno)}`
    : error.message;
}

/**
 * The failure of a file that the command opens: the error of a folder has no path.
 * @param more what the user needs to know besides
 */
export function fileFailure(path: string, error: unknown, more = ''): CommandError {
  const what = explain(Object.assign(error as Error, { path }));
  return new CommandError(codeOf(error), `${what}${more}`, { cause: error });
}

/** For files that the library reads and writes: it knows descriptors, and the user knows names. */
export function explainTransfer(path: string, error: unknown): string {
  const { details } = error as { details?: { errno?: number } };
  return `${path}: ${details?.errno === undefined ? explain(error) : fileProblem(-details.errno)}`;
}

/** The code that a program can tell failures by. */
export function codeOf(error: unknown): FailureCode {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? (code as FailureCode) : 'ERROR';
}

/** Error numbers are negative here, as in Node's own errors. */
export function fileProblem(errno: number): string {
  const [name, message] = getSystemErrorMap().get(errno) ?? ['', `error number ${-errno}`];
  return FILE_PROBLEMS[name] ?? message;
}
