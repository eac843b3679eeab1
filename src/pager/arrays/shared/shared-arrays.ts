/**
 * Arrays that other machines have, too. Each has a thread that speaks with the server as a member;
 * what that says of blocks is done here, to pages, and what threads want is passed on.
 */

import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker,
} from 'node:worker_threads';
import { type DenyReason, HOST, PAGE_BYTES, type Status } from '../../../core/basics/types.js';
import type { Range } from '../../../core/table/range.js';
import { monotonicMs } from '../../../linux/base/clock.js';
import { fillMemory, readMemory, writeMemory } from '../../../linux/memory/memory.js';
import { startOwnThread } from '../../../linux/threads/own-threads.js';
import { valkeyAddress } from '../../../valkey/address.js';
import {
  type FromSharing,
  OPEN_AGAIN,
  type SharingCall,
  type SharingSource,
  type SharingThreadData,
  type ToSharing,
} from '../../protocol/sharing.js';
import { beginStart, endStart } from '../../protocol/starting.js';
import { type WireError, wireError } from '../../protocol/wire.js';
import type { SpaceContext } from '../table/context.js';
import { BlockHolds, type Need } from './block-holds.js';
import { SharedBlocks } from './shared-blocks.js';

/** Turns of the event loop, in which it sees threads end. */
const TURN_MS = 200;

type Done = (failure: WireError | null) => void;

interface Shared {
  readonly range: Range;
  readonly source: SharingSource;
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly blocks: SharedBlocks<Uint8Array>;
  readonly holds: BlockHolds<DenyReason>;
  readonly calls: Map<number, { readonly kind: SharingCall['kind']; readonly done: Done }>;
  /** What the server does instead of what it is asked, as the rest of a sentence that names it. */
  problem: string | null;
  /** The same, of one block. */
  refusal: string | null;
  /** Blocks that the server does not have as they were written. */
  readonly spoiled: Set<number>;
  /** The server has forgotten the array. */
  forgotten: boolean;
  /** Why it is being given up, and what is told how that has ended. */
  leaving: 'freed' | 'closed' | null;
  left: Done | null;
  ended: boolean;
  /** It ended without being asked to. */
  failed: boolean;
}

export interface UsedPages {
  readonly first: number;
  readonly count: number;
  readonly write: boolean;
}

export class SharedArrays {
  private readonly all = new Map<number, Shared>();
  private readonly exits = new Set<Promise<void>>();
  private lastCall = 0;
  private lastTurn = 0;

  constructor(private readonly context: SpaceContext) {}

  start(range: Range, elementBytes: number, source: SharingSource): void {
    const { port1: port, port2 } = new MessageChannel();
    const blocks = Math.ceil((range.pages * PAGE_BYTES) / source.blockBytes);
    const running = new Int32Array(new SharedArrayBuffer(4));
    const start = beginStart(this.context.options.control);
    const threadData: SharingThreadData = {
      source,
      name: range.name,
      blocks,
      elementBytes,
      port: port2,
      wakeFd: this.context.options.wakeFd,
      running: running.buffer,
      start,
    };
    const worker = startSharing(threadData);
    worker.once('exit', () => endStart(start));
    worker.unref();
    const { holdMs } = source;
    const held: BlockHolds<DenyReason> = new BlockHolds(
      range.name,
      holdMs,
      {
        touch: (block, right) => say(port, { kind: 'touch', block, right }),
        restrict: (block, right) => shared.blocks.restrict(block, right),
        running: (count) => Atomics.store(running, 0, count),
      },
      this.context.now,
    );
    const shared: Shared = {
      range,
      source,
      worker,
      port,
      blocks: this.blocksOf(range, source, port, held),
      holds: held,
      calls: new Map(),
      problem: null,
      refusal: null,
      spoiled: new Set(),
      forgotten: false,
      leaving: null,
      left: null,
      ended: false,
      failed: false,
    };
    this.watch(shared);
    this.all.set(range.id, shared);
    const { shown } = valkeyAddress(source.urls[0]);
    this.context.sources.add(range.first, range.pages, {
      kind: 'shared',
      provide: (_token, page, count, target): Status => shared.blocks.provide(page, count, target),
      get problem() {
        return `array ${range.name} is shared by the server ${shown}, which ${shared.problem ?? shared.refusal ?? 'does not answer'}`;
      },
      loss: (reason, page) => {
        if (reason === 'GONE' && shared.spoiled.has(shared.blocks.blockOf(page)))
          return `which the server ${shown} does not have as it was written: its value was evicted, removed or changed there; set maxmemory-policy noeviction there, and copy the rest of array ${range.name} to one of another name`;
        return reason === 'FORGOTTEN' && shared.forgotten
          ? `which was on the server ${shown} when that came back without it; free array ${range.name} and open it again, which has zeros or what other programs have written to it by then`
          : undefined;
      },
      remedy: OPEN_AGAIN,
      details: { url: shown },
      end: () => this.forget(range.id),
    });
  }

  has(range: number): boolean {
    return this.all.has(range);
  }

  /** What operations need of blocks to use these pages. */
  needsOf(used: readonly UsedPages[]): Need<DenyReason>[] {
    const needs: Need<DenyReason>[] = [];
    for (const { range, blocks, holds } of this.all.values())
      for (const { first, count, write } of used) {
        const from = Math.max(first, range.first);
        const end = Math.min(first + count, range.first + range.pages);
        if (from >= end) continue;
        for (let block = blocks.blockOf(from); block <= blocks.blockOf(end - 1); block++)
          needs.push({ array: holds, block, right: write ? 'write' : 'read' });
      }
    return needs;
  }

  pageOf(holds: BlockHolds<DenyReason>, block: number): number {
    const found = [...this.all.values()].find((each) => each.holds === holds);
    return found?.blocks.pagesOf(block).first ?? 0;
  }

  /** A thread of the host waits for a right to a page. */
  wanted(page: number, write: boolean): void {
    for (const shared of this.all.values()) {
      const { range, blocks, ended, failed } = shared;
      if (page < range.first || page >= range.first + range.pages) continue;
      if (failed) blocks.refuse(blocks.blockOf(page), 'NODE_LOST');
      // What was left is about to be freed, or the space to be closed: that lets the thread go on.
      else if (!ended) blocks.wanted(page, write);
    }
  }

  call(range: number, call: SharingCall, done: Done): void {
    const shared = this.all.get(range);
    if (shared === undefined) {
      done(
        wireError(
          'SHARED_ARRAY',
          'no other machine shares the array; open it by space.sharedArray()',
        ),
      );
      return;
    }
    if (shared.ended) {
      done(this.endedError(shared));
      return;
    }
    const id = ++this.lastCall;
    shared.calls.set(id, { kind: call.kind, done });
    say(shared.port, { kind: 'call', id, call });
  }

  /** An array is freed: the server gets what was written. `done`: it has, or that cannot be. */
  leave(range: number, done: () => void): void {
    this.giveUp(range, 'freed', (failure) => {
      if (failure !== null)
        this.context.warn(
          `warning: array ${this.all.get(range)?.range.name} is freed: ${failure.message}`,
        );
      done();
    });
  }

  /** The space is closed. `done` is told what of all arrays is lost; of several the first. */
  leaveAll(done: Done): void {
    let running = 1;
    let lost: WireError | null = null;
    const through: Done = (failure) => {
      lost ??= failure;
      if (--running === 0) done(lost);
    };
    for (const range of this.all.keys()) {
      running++;
      this.giveUp(range, 'closed', through);
    }
    through(null);
  }

  private giveUp(range: number, why: 'freed' | 'closed', done: Done): void {
    const shared = this.all.get(range);
    if (shared === undefined || shared.ended) {
      done(shared?.failed === true ? this.endedError(shared) : null);
      return;
    }
    const before = shared.left;
    shared.left = (failure) => {
      before?.(failure);
      done(failure);
    };
    if (before !== null) return;
    shared.leaving = why;
    shared.holds.end('FREED', 'freed');
    // Others cannot meet this program any more. What is to be flushed is flushed now.
    for (const [id, call] of [...shared.calls]) {
      if (call.kind !== 'barrier') continue;
      shared.calls.delete(id);
      call.done(this.endedError(shared));
    }
    say(shared.port, { kind: 'leave' });
  }

  /** Takes what the threads have said. */
  poll(): void {
    for (const shared of this.all.values()) this.read(shared);
  }

  /** Takes blocks from operations that keep others waiting too long. To be called often. */
  look(): void {
    for (const { holds } of this.all.values()) holds.look();
  }

  /** Whether the event loop should have a turn, in which it sees threads end. */
  needsTurn(): boolean {
    if (this.all.size === 0) return false;
    const now = this.context.now();
    if (now - this.lastTurn < TURN_MS) return false;
    this.lastTurn = now;
    return true;
  }

  private blocksOf(
    range: Range,
    { blockBytes }: SharingSource,
    port: MessagePort,
    holds: BlockHolds<DenyReason>,
  ): SharedBlocks<Uint8Array> {
    const { manager, requests, memory, restore } = this.context;
    const tell = (message: ToSharing): void => say(port, message);
    const copied = (page: number, count: number): Uint8Array<ArrayBuffer> => {
      const content = new Uint8Array(count * PAGE_BYTES);
      readMemory(content, memory + page * PAGE_BYTES);
      return content;
    };
    return new SharedBlocks<Uint8Array>(
      manager,
      requests,
      range,
      blockBytes / PAGE_BYTES,
      {
        fill: (content, from, count, target) => {
          const part = content.subarray(from * PAGE_BYTES, (from + count) * PAGE_BYTES);
          if (part.length > 0) writeMemory(target, part);
          if (part.length < count * PAGE_BYTES)
            fillMemory(target + part.length, 0, count * PAGE_BYTES - part.length);
        },
        copy: copied,
      },
      {
        touch: (block, right) => tell({ kind: 'touch', block, right }),
        installed: (block) => {
          holds.installed(block);
          tell({ kind: 'installed', block, at: monotonicMs() });
        },
        notInstalled: (block, reason) => {
          tell({ kind: 'notInstalled', block });
          holds.refuse(block, reason);
        },
        restricted: (block, content) =>
          tell({ kind: 'restricted', block, content: content as Uint8Array<ArrayBuffer> | null }),
        broken: (block, reason) => tell({ kind: 'broken', block, reason }),
      },
      restore,
    );
  }

  private watch(shared: Shared): void {
    shared.worker.on('error', (error: Error) => {
      shared.problem = `is out of reach, since the thread for it failed: ${error.message}`;
    });
    const exit = new Promise<void>((resolve) => {
      shared.worker.once('exit', () => {
        this.read(shared);
        this.end(shared, null);
        this.exits.delete(exit);
        resolve();
      });
    });
    this.exits.add(exit);
  }

  private read(shared: Shared): void {
    for (;;) {
      const received = receiveMessageOnPort(shared.port) as { message: FromSharing } | undefined;
      if (received === undefined) return;
      this.heard(shared, received.message);
    }
  }

  private heard(shared: Shared, message: FromSharing): void {
    const { blocks, holds } = shared;
    switch (message.kind) {
      case 'install':
        shared.spoiled.delete(message.block);
        holds.installing(message.block, message.right);
        blocks.install(message.block, message.content, message.right);
        break;
      case 'restrict':
        holds.restrict(message.block, message.right, message.isOver);
        break;
      case 'ended':
        holds.ended();
        break;
      case 'clean':
        blocks.clean(message.block);
        break;
      case 'refuse':
        if (message.reason === 'GONE') shared.spoiled.add(message.block);
        shared.refusal = message.why ?? null;
        blocks.refuse(message.block, message.reason);
        holds.refuse(message.block, message.reason);
        break;
      case 'again': {
        const { first, count } = blocks.pagesOf(message.block);
        this.context.restore(first, count);
        break;
      }
      case 'lost':
        this.tellLoss(blocks.pagesOf(message.block));
        break;
      case 'forgotten':
        shared.forgotten = true;
        this.tellLoss({ first: shared.range.first, count: shared.range.pages });
        this.context.warn(
          `warning: ${valkeyAddress(shared.source.urls[0]).shown} has come back without array ${shared.range.name}: what had been flushed is ` +
            'lost, and the array cannot be used until it is freed and opened again; set appendonly yes on the server',
        );
        break;
      case 'connection':
        shared.problem = message.problem;
        // What threads were denied while the server was away they may wait for again.
        if (message.problem === null) this.context.restore(shared.range.first, shared.range.pages);
        break;
      case 'answer': {
        const call = shared.calls.get(message.id);
        shared.calls.delete(message.id);
        call?.done(message.failure);
        break;
      }
      case 'left':
        this.end(shared, message.failure);
        break;
    }
  }

  /** Only subscribers are told; no page is changed, since the newer content is nowhere. */
  private tellLoss({ first, count }: { first: number; count: number }): void {
    this.context.deferred.invalidate(first, count, 'lost', HOST);
    this.context.deferred.invalidated(first, count, 'lost', HOST);
  }

  /** The thread has left, or ended: nothing is asked of it any more. */
  private end(shared: Shared, failure: WireError | null): void {
    if (shared.ended) return;
    shared.ended = true;
    // Its exit is waited for: without it the manager's thread would end before, when nothing else
    // keeps its loop.
    shared.worker.ref();
    shared.problem ??= 'is out of reach, since the thread for it has ended';
    shared.holds.end('NODE_LOST', 'ended');
    for (const { done } of shared.calls.values()) done(this.endedError(shared));
    shared.calls.clear();
    const { left } = shared;
    shared.left = null;
    shared.failed = left === null;
    if (shared.failed) this.refuseAll(shared, 'NODE_LOST');
    left?.(failure);
  }

  private refuseAll({ blocks }: Shared, reason: DenyReason): void {
    for (let block = 0; block < blocks.count; block++) blocks.refuse(block, reason);
  }

  /** When the threads of all arrays that were left have ended. */
  async ended(): Promise<void> {
    await Promise.all(this.exits);
  }

  /** All of the range has been freed. */
  private forget(range: number): void {
    const shared = this.all.get(range);
    if (shared === undefined) return;
    this.all.delete(range);
    shared.port.close();
  }

  private endedError({ range: { name }, source, leaving, problem }: Shared): WireError {
    if (leaving === 'freed')
      return wireError('USE_AFTER_FREE', `array ${name} has been freed`, { array: name });
    if (leaving === 'closed')
      return wireError('SPACE_CLOSED', 'cancelled: the space is being closed', { array: name });
    const { shown } = valkeyAddress(source.urls[0]);
    const text = `array ${name} is shared by the server ${shown}, which ${problem}; free the array, and open it again`;
    return wireError('NODE_LOST', text, { array: name, url: shown });
  }
}

function say(port: MessagePort, message: ToSharing): void {
  const content = message.kind === 'restricted' ? message.content : null;
  port.postMessage(message, content === null ? [] : [content.buffer]);
}

function startSharing(workerData: SharingThreadData): Worker {
  try {
    return startOwnThread(new URL('../sources/sharing-thread.cjs', import.meta.url), {
      workerData,
      transferList: [workerData.port],
      name: 'onemem sharing',
    });
  } catch (error) {
    endStart(workerData.start);
    throw error;
  }
}
