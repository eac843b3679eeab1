import { expect, test } from 'vitest';
import { checkServerUrls, serverUrls } from './server-url.js';

test('one address is a list of one, and of several each is there once', () => {
  expect(serverUrls('on.url', 'valkey://a', 'BEHIND')).toEqual(['valkey://a']);
  expect(serverUrls('on.url', ['valkey://a', 'valkey://b', 'valkey://a'], 'BEHIND')).toEqual([
    'valkey://a',
    'valkey://b',
  ]);
});

const NO_TEXT = '; it must be valkey://HOST:PORT, or for servers of one cluster a list of such';
const NO_LENGTH = '; it must have 1 to 100, of servers of one cluster';
test.each([
  ['a number', 5, `on.url is 5${NO_TEXT}`],
  ['a list with another', ['valkey://:secret@a', null], `on.url[1] is null${NO_TEXT}`],
  ['an empty list', [], `on.url is a list of 0 addresses${NO_LENGTH}`],
  [
    'a list that is too long',
    new Array(2 ** 31),
    `on.url is a list of 2147483648 addresses${NO_LENGTH}`,
  ],
])('%s is refused', (_, said, message) => {
  expect(() => serverUrls('on.url', said, 'BEHIND')).toThrow(
    expect.objectContaining({ code: 'BEHIND', message }),
  );
});

test.each([
  [['valkey://me:secret@a', 'valkeys://me:secret@b'], 'whether they are encrypted'],
  [['valkey://me:secret@a', 'valkey://me:secret@b', 'valkey://me:other@b'], 'user or password'],
  [['valkey://me:secret@a', 'valkey://you:secret@b'], 'user or password'],
])('%j are not reached in one way, which is said without the password', (urls, difference) => {
  const message = expect.stringMatching(
    new RegExp(
      `^on has the urls valkey://a:6379 and valkeys?://b:6379, which differ in ${difference}; .*in host and port alone$`,
    ),
  );
  expect(() => checkServerUrls('on', urls, undefined, 'BEHIND')).toThrow(
    expect.objectContaining({ code: 'BEHIND', message }),
  );
});

test('addresses that differ in host and port are reached in one way', () => {
  expect(() =>
    checkServerUrls('on', ['valkeys://me:secret@a', 'valkeys://me:secret@b:7000'], {}, 'BEHIND'),
  ).not.toThrow();
});
