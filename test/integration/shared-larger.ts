/**
 * Shared file arrays that are larger than host memory: what is written goes to the file itself when
 * room is needed.
 */
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AddressSpace,
  i32,
  kernel,
  type OnememError,
  openSpace,
  type SpaceOptions,
} from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { Program } from '../harness/processes.js';
import { failsWith, LONG, longTest, runTests, sameData, sleep } from '../harness/suite.js';

const MIB = 2 ** 20;
/** Elements of more than the host may have; three times as much in the long run. */
const N = (LONG ? 24 : 14) * MIB;
const KILLS = Number(process.env.ONEMEM_KILLS ?? 2);

const folder = mkdtempSync(join(tmpdir(), 'onemem-shared-larger-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const value = (i: number, salt: number): number => (Math.imul(i, 2_654_435_761) + salt) | 0;
const fill = kernel({ x: i32.out, salt: i32 }, ({ x, salt }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(i, 2_654_435_761) + salt;
});

/** A file of zeros. */
function file(name: string): string {
  const path = join(folder, name);
  const fd = openSync(path, 'w');
  ftruncateSync(fd, N * 4);
  closeSync(fd);
  return path;
}

function contentOf(path: string): Int32Array {
  const bytes = readFileSync(path);
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}

const OPTIONS: SpaceOptions = {
  hostMemory: '32MiB',
  storage: false,
  devices: [{ kind: 'process', memory: '8MiB' }],
};

function open(): Promise<AddressSpace> {
  return openSpace(OPTIONS);
}

longTest(
  'a file of more than the host memory is written through a shared array, byte for byte',
  async () => {
    const path = file('written');
    await using space = await open();
    const x = space.fileArray(Int32Array, path, { shared: true });
    for (let i = 0; i < N; i++) x.data[i] = value(i, 1);
    assert.ok(space.stats().processors[0].peakBytes <= 32 * MIB);
    sameData(x.data, (i) => value(i, 1));
    // What a device has written goes home first, and from there to the file.
    await space.devices[0].run(fill, { x: x.range(0, N / 2), salt: 2 }, { size: N / 2 });
    await x.flush();
    sameData(contentOf(path), (i) => value(i, i < N / 2 ? 2 : 1));
    sameData(x.data, (i) => value(i, i < N / 2 ? 2 : 1));
    space.checkInvariants();
  },
);

longTest(
  'a file that cannot be written keeps what is written in memory, says so by name, and gets it later',
  async () => {
    const path = file('full');
    const failing = await openFailing('pwrite:ENOSPC:1-1000000', OPTIONS);
    await using space = failing.space;
    const x = space.fileArray(Int32Array, path, { shared: true, name: 'x' });
    for (let i = 0; i < 3 * MIB; i++) x.data[i] = value(i, 3);
    failing.arm();
    const error = (await failsWith('OUT_OF_STORAGE', () =>
      space.devices[0].run(fill, { x: x.range(4 * MIB, N), salt: 4 }, { size: N - 4 * MIB }),
    )) as OnememError;
    assert.match(
      error.message,
      new RegExp(`shared array of ${path} cannot go there .ENOSPC.*make room there`),
    );
    sameData(x.data.subarray(0, 3 * MIB), (i) => value(i, 3));
    failing.disarm();
    await sleep(100);
    for (let i = 0; i < N; i++) x.data[i] = value(i, 5);
    await x.flush();
    sameData(contentOf(path), (i) => value(i, 5));
    space.checkInvariants();
  },
);

longTest(
  'a program that is killed meanwhile leaves each page of the file as it was or as it was written',
  async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      const path = file('killed');
      const program = new Program('sharing-larger', [path]);
      await program.line('writing');
      await sleep(kill * 40);
      program.kill();
      assert.equal((await program.outcome).signal, 'SIGKILL');
      const words = contentOf(path);
      for (let page = 0; page < N; page += 1024) {
        const first = words[page];
        const salt = (first - Math.imul(page, 2_654_435_761)) | 0;
        assert.ok(
          first === 0 || (salt > 0 && salt < 1000),
          `page ${page / 1024} begins with ${first}`,
        );
      }
    }
  },
  20 + KILLS * 4,
);

await runTests();
