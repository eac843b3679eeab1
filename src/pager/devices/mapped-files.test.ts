import { beforeEach, describe, expect, it } from 'vitest';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import type { FilePart } from '../../drivers/process-driver.js';
import type { FileProvider, FileRange } from '../sources/files.js';
import type { Device } from './device.js';
import { MappedFiles } from './mapped-files.js';

const PATH = 'data.npy';

describe('mapped files of a device', () => {
  let range: FileRange;
  let files: FileProvider;
  let mapped: MappedFiles;
  let asked: { part: FilePart; shown: (at: number | null) => void }[];
  let hidden: number[];
  let device: Device;
  let retries: number;

  /** 2000 numbers behind a header of 128 bytes, as an array from page 512 on. */
  beforeEach(() => {
    const source = {
      fd: 7,
      path: PATH,
      offset: PAGE_BYTES + 128,
      bytes: 8000,
      shared: false,
      mapped: true,
    };
    range = { firstPage: 512, pages: 2, source } as unknown as FileRange;
    files = {
      rangeOf: (page: number) => (page >= 512 && page < 514 ? range : null),
    } as unknown as FileProvider;
    mapped = new MappedFiles(files);
    [asked, hidden, retries] = [[], [], 0];
    const shows = {
      showFile: (part: FilePart, shown: (at: number | null) => void) => asked.push({ part, shown }),
      hideFile: (at: number) => hidden.push(at),
    };
    device = { process: { files: shows } } as unknown as Device;
  });

  function parameters(of: Device = device): readonly LaunchParameter[] | null {
    const x = {
      name: 'x',
      kind: 'array',
      type: 'f32',
      use: 'in',
      offset: 512 * PAGE_BYTES + 400,
      length: 10,
    } as const;
    const y = { ...x, name: 'y', offset: 0 };
    return mapped.parametersOf(
      of,
      [x, y, { name: 'n', kind: 'scalar', value: 3 }],
      () => retries++,
    );
  }

  it('are asked for once, by whole pages, and then found behind their header', () => {
    expect([parameters(), parameters()]).toEqual([null, null]);
    expect(asked.map(({ part }) => part)).toEqual([
      { fd: 7, offset: PAGE_BYTES, bytes: 8128, writable: false },
    ]);
    asked[0].shown(2 ** 40);
    expect(retries).toBe(2);
    expect(parameters()).toMatchObject([
      { offset: 2 ** 40 + 128 + 400, length: 10 },
      { offset: 0 },
      { value: 3 },
    ]);
    expect(mapped.reach(device, 513)).toBe(true);
  });

  it('that a process cannot map come by their pages', () => {
    parameters();
    asked[0].shown(null);
    expect(parameters()).toMatchObject([{ offset: 512 * PAGE_BYTES + 400 }, { offset: 0 }, {}]);
    expect(mapped.reach(device, 513)).toBe(false);
    files.onEnd(range);
    expect(hidden).toEqual([]);
  });

  it('are unreachable where they are memory of the program, which has no pages here', () => {
    Object.assign(range.source, { shared: true });
    const x = { name: 'x', kind: 'array', type: 'f32', use: 'in', length: 10 } as const;
    const given = [{ ...x, offset: 512 * PAGE_BYTES }];
    parameters();
    expect(asked[0].part.writable).toBe(true);
    asked[0].shown(null);
    expect(mapped.unreachable(device, given)).toBe('x');
    files.onEnd(range);
    parameters();
    asked[1].shown(2 ** 40);
    expect(mapped.unreachable(device, given)).toBe(null);
  });

  it('are hidden when their array has gone, also where they are shown later', () => {
    parameters();
    files.onEnd(range);
    expect(hidden).toEqual([]);
    asked[0].shown(2 ** 40);
    expect(hidden).toEqual([2 ** 40]);
    parameters();
    asked[1].shown(2 ** 41);
    files.onEnd(range);
    expect(hidden).toEqual([2 ** 40, 2 ** 41]);
  });

  it('are none of a device that has no process, and are forgotten with one that has gone', () => {
    const other = { process: null } as unknown as Device;
    expect(parameters(other)).toMatchObject([{ offset: 512 * PAGE_BYTES + 400 }, {}, {}]);
    expect(mapped.reach(other, 513)).toBe(false);
    parameters();
    asked[0].shown(2 ** 40);
    mapped.drop(device);
    files.onEnd(range);
    expect(hidden).toEqual([]);
  });
});
