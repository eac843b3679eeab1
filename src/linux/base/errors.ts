/** A failed system call, as an error that says which call failed, with which arguments, and why. */
import { constants as os } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { errno as lastErrno } from './libc.js';

export type CallArguments = Readonly<Record<string, number | string | boolean | null>>;

const ADDRESS_LIKE = /address|source|destination|start|end/i;

function describe(errno: number): readonly [code: string, text: string] {
  return getSystemErrorMap().get(-errno) ?? [`E${errno}`, 'unknown error'];
}

/** The symbolic name of an error number, such as 'ENOMEM'. */
export function errnoName(errno: number): string {
  return describe(errno)[0];
}

/** Whether an error number says that there is no room on a disk, or none for this user. */
export function isOfFullDisk(errno: number): boolean {
  return errno === os.errno.ENOSPC || errno === os.errno.EDQUOT;
}

function formatArgument(name: string, value: CallArguments[string]): string {
  if (typeof value === 'number' && ADDRESS_LIKE.test(name))
    return `${name}=0x${value.toString(16)}`;
  if (typeof value === 'string') return `${name}=${JSON.stringify(value)}`;
  return `${name}=${String(value)}`;
}

export class SystemCallError extends Error {
  override readonly name = 'SystemCallError';
  /** The symbolic name, as in Node's own errors: 'ENOMEM'. */
  readonly code: string;

  constructor(
    readonly call: string,
    readonly args: CallArguments,
    readonly errno: number,
    remark?: string,
  ) {
    const [code, text] = describe(errno);
    const list = Object.entries(args).map(([name, value]) => formatArgument(name, value));
    super(
      `${call}(${list.join(', ')}) failed: ${code} (${text})${remark === undefined ? '' : `; ${remark}`}`,
    );
    this.code = code;
  }
}

/** The result of a system call; throws if it is negative. Arguments become text only then. */
export function check(result: number, call: string, args: CallArguments): number {
  if (result < 0) throw new SystemCallError(call, args, lastErrno());
  return result;
}
