import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { ValkeyError, type ValkeyErrorCode } from './errors.js';
import { insteadOf, numberOf, problemOf } from './remedies.js';

const TIMEOUT_MS = 700;

/** What is said where only a number could be told. */
function toldByNumber(code: ValkeyErrorCode, message: string): string {
  const { text, remedy } = problemOf(numberOf(new ValkeyError(code, message)), TIMEOUT_MS);
  return `(${text}); ${remedy}`;
}

describe('a number', () => {
  it.each([
    ['REPLY', 'OOM command not allowed', '(OOM: its maxmemory is used up); give it more memory'],
    ['REPLY', 'ODD something', '(it answered with an error); see what its log says'],
    [
      'REFUSED',
      'WRONGPASS',
      '(it does not let this program in); have it know user and password of the url',
    ],
    [
      'TIMEOUT',
      'silence',
      '(it has not answered for 700 ms); see whether it runs, and can be reached',
    ],
    ['ENDED', 'closed', '(there is no connection to it); see whether it runs, and can be reached'],
  ] as const)('of %s, %s, stands for what is to be done', (code, message, expected) => {
    expect(toldByNumber(code, message)).toContain(expected);
  });

  it('of the system is what is missing here', () => {
    const { text, remedy } = problemOf(constants.errno.EMFILE, TIMEOUT_MS);
    expect(text).toContain('(EMFILE)');
    expect(remedy).toContain('(ulimit -n)');
  });

  it('that stands for nothing known is an error of the server', () => {
    expect(problemOf(5, TIMEOUT_MS).text).toBe('it answered with an error');
  });
});

it.each([
  ['REPLY', 'OOM command not allowed'],
  ['REPLY', 'ODD something'],
  ['REFUSED', 'it wants another password'],
  ['ENDED', 'the connection is gone'],
] as const)('a sentence has the remedy that a number stands for: %s, %s', (code, message) => {
  const { remedy } = problemOf(numberOf(new ValkeyError(code, message)), TIMEOUT_MS);
  expect(insteadOf(new ValkeyError(code, message))).toMatch(new RegExp(`\\(${message}\\); `));
  expect(insteadOf(new ValkeyError(code, message)).endsWith(`; ${remedy}`)).toBe(true);
});

it('a sentence about a server that cannot be reached has the remedy that its error has, and no other', () => {
  const error = new ValkeyError('UNREACHABLE', 'there is no connection to it; start it');
  expect(insteadOf(error)).toBe('does not answer (there is no connection to it; start it)');
});
