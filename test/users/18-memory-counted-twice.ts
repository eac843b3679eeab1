/**
 * What a process with managed memory takes: its budget, once. Tools that add up mappings (RSS)
 * count it twice, since the program and the manager both map it; PSS and the books of the space do
 * not.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpace } from '../../src/index.js';
import { longTest, note, runTests } from '../harness/suite.js';

const MIB = 2 ** 20;
const BUDGET = 64 * MIB;
const FILE = 192 * MIB;
/** What a page of the program and one that is about to come may take at the moment of the look. */
const SLACK = 4 * MIB;

/**
 * Bytes of this process's mappings of managed memory: counted by mapping, and by page. The kernel
 * goes from mapping to mapping while the manager reads ahead, so that a page may be seen twice: the
 * least of some looks is nearest.
 */
function managed(): { rss: number; pss: number } {
  const looks = Array.from({ length: 3 }, look);
  return {
    rss: Math.min(...looks.map(({ rss }) => rss)),
    pss: Math.min(...looks.map(({ pss }) => pss)),
  };
}

function look(): { rss: number; pss: number } {
  const sums = { rss: 0, pss: 0 };
  let isOurs = false;
  for (const line of readFileSync('/proc/self/smaps', 'latin1').split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isOurs = line.includes('/memfd:onemem-');
    const [, which, kib] = /^([RP]ss): +(\d+) kB/.exec(line) ?? [];
    if (isOurs && which !== undefined) sums[which === 'Rss' ? 'rss' : 'pss'] += Number(kib) * 1024;
  }
  return sums;
}

longTest(
  'a scan of a file larger than the budget takes the budget once, and gives it back',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'onemem-users-'));
    try {
      const path = join(folder, 'file');
      const fd = openSync(path, 'w');
      const part = Buffer.alloc(MIB, 7);
      for (let written = 0; written < FILE; written += MIB) writeSync(fd, part);
      closeSync(fd);
      await using space = await openSpace({ hostMemory: BUDGET });
      const x = space.fileArray(Uint8Array, path);
      const { data } = x;
      let sum = 0;
      let most = 0;
      for (let at = 0; at < FILE; at += 4096) {
        sum += data[at];
        if (at % (16 * MIB) === 0) most = Math.max(most, managed().pss);
      }
      assert.equal(sum, (7 * FILE) / 4096);
      const { rss, pss } = managed();
      const [host] = space.stats().processors;
      note(
        `RSS ${rss / MIB} MiB, PSS ${pss / MIB} MiB, on the books ${host.backedBytes / MIB} MiB`,
      );
      assert.ok(Math.max(most, pss) <= BUDGET + SLACK, `PSS reached ${Math.max(most, pss)} bytes`);
      assert.ok(host.peakBytes <= BUDGET, `${host.peakBytes} bytes at most, by the books`);
      assert.ok(rss <= 2 * BUDGET + SLACK, `RSS is ${rss} bytes`);
      x.free();
      space.stats();
      assert.ok(managed().rss <= SLACK, `${managed().rss} bytes are left mapped`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

await runTests();
