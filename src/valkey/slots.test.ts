import slotOf from 'cluster-key-slot';
import { expect, it } from 'vitest';
import { addressIn, valkeyAddress } from './address.js';
import { ValkeyError } from './errors.js';
import { passes, redirectionOf, SlotMap, slotMapOf } from './slots.js';

const ASKED = valkeyAddress('valkeys://me:secret@seed.example:7000');

it('gives keys of one hash tag one slot', () => {
  expect(slotOf('123456789')).toBe(0x31c3);
  expect(slotOf('onemem:{a.1}:zz')).toBe(slotOf('{a.1}'));
  expect(slotOf('onemem:{a.2}:zz')).not.toBe(slotOf('{a.1}'));
});

it('reads which server has which slot, also of servers that do not know their own host', () => {
  const name = (text: string) => Buffer.from(text);
  const map = slotMapOf(
    [
      [
        0,
        99,
        [name('10.0.0.1'), 7001, name('id'), []],
        [name('10.0.0.9'), 7001, name('replica'), []],
      ],
      [100, 16_000, [null, 7002, name('id'), []]],
      [16_002, 16_383, [name('::1'), 7003, name('id'), []]],
    ],
    ASKED,
  );
  expect([0, 99, 100, 16_001, 16_383].map((slot) => map.ownerOf(slot))).toEqual([
    '10.0.0.1:7001',
    '10.0.0.1:7001',
    'seed.example:7002',
    null,
    '::1:7003',
  ]);
  expect(map.missing).toBe(1);
  map.give(0, 99, '::1:7003');
  expect(map.servers).toEqual(['seed.example:7002', '::1:7003']);
  expect(SlotMap.of('x').missing).toBe(0);
});

it('reaches servers of a cluster as the first one was reached', () => {
  const { host, port, tls, password, shown } = addressIn(ASKED, '::1:7003');
  expect([host, port, tls, password, shown]).toEqual([
    '::1',
    7003,
    true,
    'secret',
    'valkeys://[::1]:7003',
  ]);
});

it('knows redirections, and answers that pass', () => {
  const error = (text: string) => new ValkeyError('REPLY', text);
  expect(redirectionOf(error('MOVED 17 10.0.0.2:7002'), ASKED)).toEqual({
    kind: 'moved',
    slot: 17,
    server: '10.0.0.2:7002',
  });
  expect(redirectionOf(error('ASK 18 :7004'), ASKED)).toEqual({
    kind: 'ask',
    slot: 18,
    server: 'seed.example:7004',
  });
  expect(redirectionOf(error('ERR MOVED 17 10.0.0.2:7002'), ASKED)).toBe(null);
  expect(
    ['CLUSTERDOWN x', 'TRYAGAIN x', 'LOADING x', 'OOM x'].map((text) => passes(error(text))),
  ).toEqual([true, true, true, false]);
});
