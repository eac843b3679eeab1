import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { Access, Status } from '../../core/basics/types.js';
import type {
  ByteAccess,
  CallableKernel,
  DriverEvents,
  DriverLaunch,
  LaunchFailure,
} from '../driver.js';
import { orderIn, orderOut } from '../test-orders.js';
import { SimulatedDevice } from './simulated-device.js';

const PAGE = 64;
const HOME = 0x1000;

/** Lines of code: all but comments and blank lines. */
function linesOf(source: string): number {
  const code = source
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .split('\n')
    .map((line) => line.replace(/\/\/.*/, '').trim());
  return code.filter((line) => line !== '').length;
}

describe('SimulatedDevice', () => {
  let host: Uint8Array;
  let transfers: [number, Status][];
  let launches: [number, LaunchFailure | null][];
  let deaths: string[];
  let kernel: CallableKernel;
  let device: SimulatedDevice;

  const launch = (parameters: DriverLaunch['parameters']): DriverLaunch => ({
    id: 7,
    kernelName: 'k',
    code: { kind: 'inline', source: 'k' },
    parameters,
    begin: 0,
    end: 20,
    size: 20,
  });
  const run = (): void => {
    while (device.progress());
  };

  beforeEach(() => {
    host = new Uint8Array(16 * PAGE);
    transfers = [];
    launches = [];
    deaths = [];
    kernel = () => {};
    const bytes: ByteAccess = {
      read: (address, target) =>
        target.set(host.subarray(address - HOME, address - HOME + target.length)),
      write: (address, source) => host.set(source, address - HOME),
    };
    const events: DriverEvents = {
      fault: () => expect.unreachable('this device does not fault'),
      transferred: (token, status) => transfers.push([token, status]),
      revoked: () => expect.unreachable('revocations are done at once'),
      released: () => expect.unreachable('releases are done at once'),
      launched: (id, failure) => launches.push([id, failure]),
      died: (reason) => deaths.push(reason),
    };
    device = new SimulatedDevice(
      { name: 'simulated', budgetPages: 8, bytes, loadKernel: () => kernel, events },
      PAGE,
    );
  });

  it.each([
    ['simulated device', './simulated-device.ts'],
    ["example's driver", '../../../examples/driver/driver.ts'],
  ])('is a measure of what a driver takes: the %s has less than 70 lines', (_name, file) => {
    const lines = linesOf(readFileSync(new URL(file, import.meta.url), 'utf8'));
    expect(lines).toBeGreaterThan(40);
    expect(lines).toBeLessThan(70);
  });

  it("is explained by the example's lines, which docs/guides/drivers.md shows as they are", () => {
    const example = readFileSync(
      new URL('../../../examples/driver/driver.ts', import.meta.url),
      'utf8',
    ).replace(/^ +/gm, '');
    const page = readFileSync(new URL('../../../docs/guides/drivers.md', import.meta.url), 'utf8');
    const [, parts] = /## Parts that every driver needs\n([\s\S]*?)\n## /.exec(page) ?? [];
    const shown = [...parts.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) =>
      code.replace(/^ +/gm, ''),
    );
    expect(shown).toHaveLength(1);
    for (const code of shown) expect(example).toContain(code);
  });

  it('needs nothing of the machine', () => {
    expect(readFileSync(new URL('./simulated-device.ts', import.meta.url), 'utf8')).not.toMatch(
      /from 'node:|koffi/,
    );
  });

  it('copies in when it gets to it, maps then, and copies out again', () => {
    host.fill(5, 0, PAGE);
    host.fill(6, PAGE, 2 * PAGE);
    expect(device.transferIn(orderIn(1, HOME, 100, 2, 3, Access.Read, false))).toBe(Status.Pending);
    expect(device.table.access(100)).toBe(Access.None);
    expect(transfers).toEqual([]);
    expect(device.progress()).toBe(true);
    expect(transfers).toEqual([[1, Status.Done]]);
    expect([device.table.access(100), device.table.access(101), device.table.access(102)]).toEqual([
      1, 1, 0,
    ]);
    expect([device.table.frame(100), device.table.frame(101)]).toEqual([3, 4]);
    device.transferOut(orderOut(2, 4, 1, HOME + 8 * PAGE));
    run();
    expect([...host.subarray(8 * PAGE, 9 * PAGE)]).toEqual(new Array(PAGE).fill(6));
    expect(device.progress()).toBe(false);
  });

  it('fills frames with zeros that held something else', () => {
    host.fill(9);
    device.transferIn(orderIn(1, HOME, 0, 1, 0, Access.None, false));
    device.transferIn(orderIn(2, 0, 5, 1, 0, Access.Write, true));
    device.transferOut(orderOut(3, 0, 1, HOME));
    run();
    expect(host.subarray(0, PAGE).every((byte) => byte === 0)).toBe(true);
    expect(host[PAGE]).toBe(9);
  });

  it('takes access away, and all of it with the memory', () => {
    device.map(10, 4, Access.Write, Access.None, 0);
    expect(device.revoke(1, 10, 2, Access.Read)).toBe(Status.Done);
    expect(device.revoke(2, 11, 1, Access.None)).toBe(Status.Done);
    expect([10, 11, 12, 13].map((page) => device.table.access(page))).toEqual([1, 0, 2, 2]);
    device.revoke(3, 11, 1, Access.Read);
    expect(device.table.access(11)).toBe(Access.None);
    expect(device.release(4, 10, 4)).toBe(Status.Done);
    expect([10, 11, 12, 13].map((page) => device.table.access(page))).toEqual([0, 0, 0, 0]);
  });

  it('has no memory and fails when told so', () => {
    device.copies.mishaps.refuseLargerThanPages = 2;
    expect(device.transferIn(orderIn(1, 0, 0, 3, 0, Access.None, false))).toBe(Status.NoMemory);
    expect(device.transferIn(orderIn(2, 0, 0, 3, 0, Access.None, true))).toBe(Status.Pending);
    device.copies.mishaps.refusals = 1;
    expect(device.transferIn(orderIn(3, 0, 4, 1, 4, Access.None, false))).toBe(Status.NoMemory);
    expect(device.transferIn(orderIn(4, 0, 4, 1, 4, Access.Read, false))).toBe(Status.Pending);
    device.copies.mishaps.failures = 1;
    run();
    expect(transfers).toEqual([
      [2, Status.Failed],
      [4, Status.Done],
    ]);
  });

  it('runs a kernel over whole arrays that cross pages and start within one', () => {
    const x = new Float32Array(host.buffer, 4, 20);
    for (let i = 0; i < 20; i++) x[i] = i;
    device.transferIn(orderIn(1, HOME, 0, 2, 6, Access.Write, false));
    kernel = ({ x, alpha }, { begin, end, size, unit, units }) => {
      expect([begin, end, size, unit, units]).toEqual([0, 20, 20, 0, 1]);
      const values = x as Float32Array;
      for (let i = begin; i < end; i++) values[i] *= alpha as number;
    };
    device.launch(
      launch([
        { name: 'x', kind: 'array', type: 'f32', use: 'inout', offset: 4, length: 20 },
        { name: 'alpha', kind: 'scalar', value: 3 },
      ]),
    );
    expect(launches).toEqual([]);
    run();
    expect(launches).toEqual([[7, null]]);
    device.transferOut(orderOut(2, 6, 2, HOME));
    host.fill(0);
    run();
    expect([...x]).toEqual(Array.from({ length: 20 }, (_, i) => i * 3));
  });

  it('changes nothing for an argument that is only read', () => {
    device.map(0, 1, Access.Read, Access.None, 0);
    kernel = ({ x }) => (x as Uint8Array).fill(1);
    device.launch(
      launch([{ name: 'x', kind: 'array', type: 'bytes', use: 'in', offset: 0, length: 4 }]),
    );
    host.fill(7);
    device.transferOut(orderOut(2, 0, 1, HOME));
    run();
    expect(launches).toEqual([[7, null]]);
    expect(host[0]).toBe(0);
    device.transferOut(orderOut(3, 0, 1, HOME));
    run();
    expect(host[0]).toBe(0);
  });

  it('refuses a launch whose pages are not there with the right that it declared', () => {
    let called = false;
    kernel = () => {
      called = true;
    };
    device.map(0, 1, Access.Write, Access.None, 0);
    device.map(1, 1, Access.Read, Access.None, 1);
    device.launch(
      launch([{ name: 'out1', kind: 'array', type: 'u8', use: 'out', offset: 60, length: 8 }]),
    );
    device.launch(
      launch([{ name: 'in1', kind: 'array', type: 'u8', use: 'in', offset: 2 * PAGE, length: 1 }]),
    );
    run();
    expect(launches.map(([, failure]) => failure?.code)).toEqual([
      'ACCESS_DENIED',
      'ACCESS_DENIED',
    ]);
    expect(launches[0][1]?.message).toMatch(/out1.*page 1\b/);
    expect(launches[1][1]?.message).toMatch(/in1.*page 2\b/);
    expect(called).toBe(false);
  });

  it('reports what a kernel throws, and keeps what was there', () => {
    device.map(0, 1, Access.Write, Access.None, 0);
    kernel = ({ x }) => {
      (x as Uint8Array)[0] = 1;
      throw new TypeError('no such thing');
    };
    device.launch(
      launch([{ name: 'x', kind: 'array', type: 'u8', use: 'inout', offset: 0, length: 4 }]),
    );
    run();
    expect(launches[0][1]).toMatchObject({ code: 'KERNEL_ERROR', message: 'no such thing' });
    expect(launches[0][1]?.stack).toContain('TypeError');
    host.fill(8);
    device.transferOut(orderOut(1, 0, 1, HOME));
    run();
    expect(host[0]).toBe(0);
  });

  it('answers everything before it says that it died, and loses what it had', () => {
    device.transferIn(orderIn(1, HOME, 0, 1, 0, Access.Read, false));
    device.launch(launch([]));
    device.lose('fell off the bus');
    expect(transfers).toEqual([[1, Status.Lost]]);
    expect(launches[0][1]?.code).toBe('DEVICE_LOST');
    expect(deaths).toEqual(['fell off the bus']);
    expect(device.transferIn(orderIn(2, HOME, 0, 1, 0, Access.Read, false))).toBe(Status.Lost);
    expect(device.transferOut(orderOut(3, 0, 1, HOME))).toBe(Status.Lost);
    expect(device.progress()).toBe(false);
  });
});
