/**
 * A thread of a process that attached to a space of another one. It writes why an access was
 * denied, and ends the access, until the page may be used again. It takes blocks out of the page
 * tables that were not used for long. When the owner is not there any more, it answers the faults of
 * this process: a touch of a page that is not here would wait for ever otherwise.
 */
import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { workerData } from 'node:worker_threads';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import { PageTable } from '../../drivers/page-table.js';
import { MADV_DONTNEED } from '../../linux/base/constants.js';
import { FAULT_FEATURES } from '../../linux/memory/managed-mapping.js';
import { tryMadvise } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { ownerEndedBefore } from '../../messages/owner-ended.js';
import {
  type AttachedWatchData,
  DENIED_OUTCOME,
  type DenialNotice,
  type IdleNotice,
  type LifeNotice,
  type RestoreNotice,
} from '../protocol/attaching.js';

/** Between two looks for faults that nobody else answers. */
const LOOK_MS = 20;

const { life, faults, base, bytes, owner } = workerData as AttachedWatchData;
const table = new PageTable('attached', base, Userfaultfd.fromFd(faults, FAULT_FEATURES));
const poisoned = new Set<number>();
let text = '';

const socket = new Socket({ fd: life, readable: true, writable: true });
socket.on('data', (piece: Buffer) => {
  const lines = (text + piece.toString()).split('\n');
  text = lines.pop() ?? '';
  for (const line of lines) {
    const notice = JSON.parse(line) as LifeNotice;
    if ('idle' in notice) letGo(notice);
    else if ('restored' in notice) restore(notice);
    else deny(notice);
  }
});
socket.on('error', () => undefined);
socket.on('close', () => setInterval(serveAlone, LOOK_MS));

/** The line comes first: the process may end by the access. */
function deny({ say, page }: DenialNotice): void {
  write(say);
  poison(page);
}

/** Accesses fault again, as those to any page that is not here. */
function restore({ restored }: RestoreNotice): void {
  for (const page of restored) {
    poisoned.delete(page);
    tryMadvise(addressOf(page), PAGE_BYTES, MADV_DONTNEED);
  }
}

/** The content stays in the memory file: a page that is touched again comes back by a fault. */
function letGo({ idle }: IdleNotice): void {
  for (const [block, count] of idle)
    tryMadvise(base + block * BLOCK_BYTES, count * BLOCK_BYTES, MADV_DONTNEED);
  socket.write('+');
}

function serveAlone(): void {
  // The owner may have heard of a fault and not have answered it: its thread faults again.
  table.userfaultfd.wake(base, bytes);
  table.reportFaults(table.userfaultfd.readMessages(), (page) => {
    if (!poisoned.has(page)) {
      write(`onemem: ${ownerEndedBefore(owner, addressOf(page))}. ${DENIED_OUTCOME}\n`);
    }
    poison(page);
  });
}

function poison(page: number): void {
  poisoned.add(page);
  table.poison(page, () => tryMadvise(addressOf(page), PAGE_BYTES, MADV_DONTNEED));
}

function addressOf(page: number): number {
  return base + page * PAGE_BYTES;
}

function write(line: string): void {
  try {
    writeSync(2, line);
  } catch {
    // Nobody reads it.
  }
}
