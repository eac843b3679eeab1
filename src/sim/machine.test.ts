import { describe, expect, it } from 'vitest';
import { leastMs, type Machine, parseMachine, transferMs } from './machine.js';

const LINK: Machine = {
  name: 'link',
  what: '',
  inGBs: 10,
  outGBs: 5,
  duplex: 'full',
  latencyUs: 100,
  granularityBytes: 4096,
  source: '',
};
const HALF: Machine = { ...LINK, duplex: 'half' };
/** 8192 bytes take 0.8192 us in at 10 GB/s, and twice that out. */
const TWO_PAGES = new Map([[8192, 1000]]);

describe('transferMs', () => {
  it('adds latencies and bytes, and both directions where only one goes at a time', () => {
    expect(transferMs(LINK, TWO_PAGES, new Map())).toBeCloseTo(100 + 0.8192, 6);
    expect(transferMs(LINK, TWO_PAGES, TWO_PAGES)).toBeCloseTo(100 + 1.6384, 6);
    expect(transferMs(HALF, TWO_PAGES, TWO_PAGES)).toBeCloseTo(200 + 0.8192 + 1.6384, 6);
  });

  it('moves whole granules', () => {
    const one = transferMs(LINK, new Map([[1, 1000]]), new Map());
    expect(one).toBe(transferMs(LINK, new Map([[4096, 1000]]), new Map()));
  });

  it('never takes less than the least', () => {
    for (const machine of [LINK, HALF])
      expect(transferMs(machine, TWO_PAGES, TWO_PAGES)).toBeGreaterThan(
        leastMs(machine, 8_192_000, 8_192_000),
      );
  });
});

describe('parseMachine', () => {
  const parsed = (change: object): Machine =>
    parseMachine(JSON.stringify({ ...LINK, ...change }), 'file');

  it('takes a description, and the name of its file where it has none', () => {
    expect(parsed({})).toEqual(LINK);
    expect(parsed({ name: undefined }).name).toBe('file');
  });

  it('says which field is wrong', () => {
    expect(() => parseMachine('{', 'x')).toThrow(/it is no JSON/);
    expect(() => parseMachine('[]', 'x')).toThrow('it is no JSON object');
    expect(() => parsed({ inGBs: 0 })).toThrow('inGBs is 0; it must be a number above 0');
    expect(() => parsed({ outGBs: undefined })).toThrow('outGBs is undefined');
    expect(() => parsed({ latencyUs: -1 })).toThrow('latencyUs is -1');
    expect(() => parsed({ duplex: 'both' })).toThrow('duplex is "both"; write "full" or "half"');
    expect(() => parsed({ bandwith: 1 })).toThrow('there is no field bandwith; there are inGBs');
    expect(() => parsed({ source: 1 })).toThrow('source is no text');
  });
});
