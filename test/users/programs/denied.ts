/**
 * Runs a program that the kernel denies some system calls, as containers do by seccomp: `denied.js
 * CALL[,CALL] PROGRAM [ARG ...]`. 'dev-userfaultfd' is what /dev/userfaultfd is opened for.
 */
import { spawnSync } from 'node:child_process';
import { constants } from 'node:os';
import { USERFAULTFD_IOC_NEW } from '../../../src/linux/base/constants.js';
import { libc, SYSTEM_CALL } from '../../../src/linux/base/libc.js';
import { NativeBuffer } from '../../../src/linux/base/native-buffer.js';

const PR_SET_NO_NEW_PRIVS = 38;
const PR_SET_SECCOMP = 22;
const SECCOMP_MODE_FILTER = 2;
const ALLOW = 0x7fff0000;
const FAIL = 0x00050000 | constants.errno.EPERM;
// Instructions of the filter: load a word, jump if equal, return. The call's number is the word at
// 0, its second argument at 24.
const LOAD = 0x20;
const EQUAL = 0x15;
const RETURN = 0x06;

const [names, command, ...args] = process.argv.slice(2);
const IOCTL = process.arch === 'x64' ? 16 : 29;
const filter: [code: number, yes: number, no: number, value: number][] = [];
for (const name of names.split(',')) {
  filter.push([LOAD, 0, 0, 0]);
  if (name === 'dev-userfaultfd') {
    filter.push(
      [EQUAL, 0, 3, IOCTL],
      [LOAD, 0, 0, 24],
      [EQUAL, 0, 1, USERFAULTFD_IOC_NEW],
      [RETURN, 0, 0, FAIL],
    );
  } else
    filter.push([EQUAL, 0, 1, SYSTEM_CALL[name as keyof typeof SYSTEM_CALL]], [RETURN, 0, 0, FAIL]);
}
filter.push([RETURN, 0, 0, ALLOW]);

const area = new NativeBuffer(16 + filter.length * 8);
area.view.setUint16(0, filter.length, true);
area.setU64(8, area.address + 16);
for (const [index, [code, yes, no, value]] of filter.entries()) {
  const at = 16 + index * 8;
  area.view.setUint16(at, code, true);
  area.view.setUint8(at + 2, yes);
  area.view.setUint8(at + 3, no);
  area.view.setUint32(at + 4, value, true);
}
// Of this thread, which starts the program: what it may not do, the program and its threads may not
// do either.
if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) throw new Error('PR_SET_NO_NEW_PRIVS failed');
if (libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, area.address, 0, 0) < 0)
  throw new Error('PR_SET_SECCOMP failed');
const { status, signal } = spawnSync(command, args, { stdio: 'inherit' });
process.exitCode = signal === null ? (status ?? 1) : 128;
