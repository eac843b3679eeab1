import { expect, test } from 'vitest';
import { ValkeyError, type ValkeyErrorCode } from './errors.js';
import { firstOf } from './first-of.js';

/** Asks servers that fail by these codes, or answer where there is none. */
async function ask(...codes: (ValkeyErrorCode | null)[]): Promise<unknown> {
  const asked: number[] = [];
  const result = firstOf([...codes.keys()], async (server) => {
    asked.push(server);
    const code = codes[server];
    if (code !== null) throw new ValkeyError(code, `${server} ${code}`);
    return asked;
  });
  return result.catch(({ code, message }: ValkeyError) => `${code}: ${message}`);
}

test.each([
  ['the first that answers is asked, and none behind it', [null, null], [0]],
  ['those that do not answer are passed over', ['UNREACHABLE', 'TIMEOUT', null, null], [0, 1, 2]],
  ['one that refuses is passed over, too', ['REFUSED', null], [0, 1]],
  [
    'where none answers, each is named',
    ['UNREACHABLE', 'TIMEOUT'],
    'TIMEOUT: none of 2 servers can be used: 0 UNREACHABLE; 1 TIMEOUT',
  ],
  [
    'what one answered counts for more',
    ['UNREACHABLE', 'REFUSED', 'REPLY', 'TIMEOUT'],
    'REFUSED: 1 REFUSED',
  ],
  ['one server says itself what is wrong', ['UNREACHABLE'], 'UNREACHABLE: 0 UNREACHABLE'],
] as const)('%s', async (_, codes, expected) => {
  expect(await ask(...codes)).toEqual(expected);
});

test('servers that fail by the same one name it once', async () => {
  const owner = new ValkeyError('UNREACHABLE', 'there is no connection to the owner');
  await expect(firstOf([0, 1], () => Promise.reject(owner))).rejects.toBe(owner);
});
