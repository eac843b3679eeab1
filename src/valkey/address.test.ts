import { expect, it } from 'vitest';
import { valkeyAddress } from './address.js';

it('reads every part of a url, and never shows the password', () => {
  expect(valkeyAddress('valkeys://me:p%40ss@[::1]:7000/3')).toEqual({
    host: '::1',
    port: 7000,
    path: null,
    tls: true,
    user: 'me',
    password: 'p@ss',
    db: 3,
    shown: 'valkeys://[::1]:7000/3',
  });
  expect(valkeyAddress('redis://:secret@host')).toMatchObject({
    user: 'default',
    password: 'secret',
    port: 6379,
    tls: false,
    shown: 'redis://host:6379',
  });
  expect(valkeyAddress('unix:///run/a%20b.sock?db=2&password=x')).toMatchObject({
    path: '/run/a b.sock',
    db: 2,
    password: 'x',
    shown: 'unix:///run/a b.sock?db=2',
  });
});

function messageOf(url: string): string {
  try {
    return JSON.stringify(valkeyAddress(url));
  } catch (error) {
    return String(error);
  }
}

it('refuses what is none, and does not say what stood there', () => {
  for (const url of [
    '',
    'host:6379',
    'http://:secret@h',
    'valkey://',
    'valkey:///1',
    'valkey://h/secret',
    'unix://h/x',
    'valkey://h/?db=3',
    'unix:///s?database=3',
  ])
    expect(() => valkeyAddress(url)).toThrow(/the url of a Valkey server is not one/);
  for (const url of ['http://:secret@h', 'valkey://:secret@h:99999'])
    expect(messageOf(url)).not.toMatch(/secret/);
});
