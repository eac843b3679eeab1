/** Requests that ask where pages are and what was done, and those that have it told. */
import { PAGE_BYTES } from '../../../core/basics/types.js';
import { threadRunningNs } from '../../../linux/threads/thread-usage.js';
import type { Parts } from '../parts.js';
import { done, type Handlers } from './handling.js';

export function reportRequests(parts: Parts) {
  const {
    attachments,
    devices,
    manager,
    arrays,
    pins,
    notifiers,
    reports,
    overviews,
    moveRecords,
  } = parts;
  return {
    arrays: (_value, _answer, client) =>
      arrays.listings().filter(({ range }) => client.mayKnow(range)),
    overview: (_value, _answer, client) => overviews.overview((range) => client.mayKnow(range)),
    residency: (wanted) => reports.residency(wanted),
    pointer: ({ offset }, _answer, client) => {
      const range = manager.pages.rangeOf(Math.floor(offset / PAGE_BYTES))?.id;
      const known = range !== undefined && client.mayKnow(range);
      return { report: known ? reports.pointer(offset) : null };
    },
    dirty: ({ firstPage, count }) => ({
      runs: manager.pages.dirty(firstPage, count).flatMap((run) => [run.first, run.count]),
    }),
    young: ({ firstPage, count, clear }) => {
      const runs = manager.pages.young(firstPage, count);
      if (clear) manager.forgetUse(firstPage, count);
      return {
        runs: runs.flatMap((run) => [run.first, run.count, run.processors]),
        processors: manager.pages.processorNames,
      };
    },
    stats: () => {
      notifiers.forgetEnded();
      return {
        processors: [...devices.stats(), ...attachments.stats()],
        slowMemory: parts.stores.slowMemoryStats,
        storage: parts.stores.storageStats,
        behind: parts.stores.serverStats,
        ranges: arrays.count,
        allocatedBytes: arrays.allocatedBytes,
        notifiers: notifiers.count,
        pinnedBytes: pins.pinnedBytes,
        lockedBytes: pins.lockedBytes,
        managerMs: threadRunningNs() / 1e6,
        faultsBy: parts.host.faults.via,
      };
    },
    check: () => done(manager.checkInvariants()),
    record: ({ path, limitBytes }) => ({ id: moveRecords.start(path, limitBytes) }),
    unrecord: ({ id }) => moveRecords.stop(id),
    history: () => ({ texts: moveRecords.last }),
    follow: (_value, _answer, client) => ({ id: moveRecords.follow(client) }),
    tail: ({ id }, _answer, client) => moveRecords.tail(id, client),
    unfollow: ({ id }, _answer, client) => done(moveRecords.unfollow(id, client)),
  } satisfies Partial<Handlers>;
}
