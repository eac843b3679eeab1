import { expect, it } from 'vitest';
import type { ProcessorStats, SpaceStats } from '../../pager/protocol/space.js';
import { metricsText } from './metrics.js';

const PROCESSOR = {
  name: 'a "b"\\\n',
  kind: 'process',
  readFaults: 3,
  writeFaults: 4,
  bytesIn: 4096,
  copies: [{ upToBytes: 4096, count: 1 }],
  alive: true,
} as unknown as ProcessorStats;
const STATS = {
  processors: [PROCESSOR],
  slowMemory: null,
  storage: null,
  behind: null,
  ranges: 2,
  pinnedBytes: 0,
} as unknown as SpaceStats;

const LABELS = 'space="s",processor="a \\"b\\"\\\\\\n",kind="process"';

it('writes a sample a line, with labels that hide nothing', () => {
  const text = metricsText(STATS, 's').split('\n');
  expect(text).toContain(`onemem_faults_total{${LABELS},access="read"} 3`);
  expect(text).toContain(`onemem_faults_total{${LABELS},access="write"} 4`);
  expect(text).toContain(`onemem_bytes_in_total{${LABELS},source="memory"} 4096`);
  expect(text).toContain(`onemem_copies_total{${LABELS},up_to_bytes="4096"} 1`);
  expect(text).toContain('onemem_arrays{space="s"} 2');
  expect(text.at(-1)).toBe('');
});

it('describes each metric once, before its samples', () => {
  const names = new Set<string>();
  let current = '';
  for (const line of metricsText(STATS, 's').trimEnd().split('\n')) {
    const [, kind, name] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
    if (kind === 'HELP') {
      expect(names.has(name)).toBe(false);
      names.add(name);
      current = name;
    } else expect(name ?? /^[a-z_]+/.exec(line)?.[0]).toBe(current);
  }
  expect(names.size).toBeGreaterThan(10);
});

it('says nothing of stores that the space does not have, and both of those that it has', () => {
  expect(metricsText(STATS, 's')).not.toContain('onemem_store');
  const store = { budgetBytes: 10, heldBytes: 5, bytesWritten: 6, bytesRead: 7, full: true };
  const text = metricsText({ ...STATS, storage: { ...store, path: '/x' } }, 's');
  expect(text).toContain('onemem_store_bytes{space="s",store="storage"} 5');
  expect(text).toContain('onemem_store_full{space="s",store="storage"} 1');
});
