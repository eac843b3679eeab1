/** Carries out streams' operations: launches, prefetches, copies, discards and frees. */

import { NodeError } from '../../drivers/page-table.js';
import type { Rights } from '../arrays/rights.js';
import type { UsedPages } from '../arrays/shared/shared-arrays.js';
import { type SharedUse, type SharedUses, usedBytes } from '../arrays/shared/shared-uses.js';
import type { Uses } from '../arrays/uses.js';
import type { Devices } from '../devices/devices.js';
import type { LaunchOperation } from '../devices/launch.js';
import type { Launches } from '../devices/launches.js';
import type { OperationDone, StreamOperation } from '../protocol/operations.js';
import { toWire } from '../protocol/wire.js';
import type { Copies } from '../transfers/copies.js';
import type { Freeing } from '../transfers/freeing.js';
import type { Prefetches } from '../transfers/prefetches.js';

type Move = Extract<StreamOperation, { kind: 'prefetch' | 'copy' }>;

export class Operations {
  /** Copies and prefetches that wait for other machines. */
  private readonly waiting = new Map<StreamOperation, SharedUse>();

  constructor(
    private readonly parts: {
      readonly uses: Uses;
      readonly devices: Devices;
      readonly launches: Launches;
      readonly prefetches: Prefetches;
      readonly copies: Copies;
      readonly sharedUses: SharedUses;
      readonly rights: Rights;
      readonly freeing: Freeing;
    },
  ) {}

  execute(operation: StreamOperation, done: OperationDone): void {
    this.attempt(done, () => {
      this.parts.uses.check(operation);
      if (operation.kind === 'launch') {
        const { devices, launches } = this.parts;
        const device = devices.byNumber(operation.device);
        if (device?.alive === true) launches.add(device, operation, done);
        else done(devices.lossError(operation.device, `cannot launch ${operation.kernelName}`));
      } else if (operation.kind === 'prefetch' || operation.kind === 'copy')
        this.move(operation, done);
      else if (operation.kind === 'discard') this.parts.rights.discard(operation, done);
      else if (operation.kind === 'free') this.parts.freeing.free(operation, done);
    });
  }

  /** A launch waits for what its stream was given before. */
  wait(operation: LaunchOperation): void {
    const device = this.parts.devices.byNumber(operation.device);
    if (device?.alive === true) this.parts.launches.wait(device, operation);
  }

  /** How many operations may have begun before the one that follows; 1: it must have ended. */
  mostTogether(operation: StreamOperation, next: StreamOperation): number {
    if (operation.kind !== 'launch' || next.kind !== 'launch' || operation.device !== next.device)
      return 1;
    return this.parts.launches.mostTogether(this.parts.devices.byNumber(next.device));
  }

  /** Moves pages when no other machine has them. A launch asks when it has its device. */
  private move(operation: Move, done: OperationDone): void {
    const name = operation.kind === 'copy' ? 'a copy' : 'a prefetch';
    const use = this.parts.sharedUses.during(
      name,
      usedBy(operation),
      (end) => {
        this.waiting.delete(operation);
        const ended: OperationDone = (failure, figures) => done(end(failure), figures);
        this.attempt(ended, () => this.moveNow(operation, ended));
      },
      (failure) => {
        this.waiting.delete(operation);
        done(failure);
      },
    );
    if (use?.isWaiting) this.waiting.set(operation, use);
  }

  private moveNow(operation: Move, done: OperationDone): void {
    if (operation.kind === 'prefetch') {
      const { device, firstPage, count, exclusive } = operation;
      this.parts.prefetches.start(device, firstPage, count, exclusive, done);
    } else {
      const { devices, copies } = this.parts;
      const { at } = operation;
      if (at !== null && at !== 0 && devices.byNumber(at)?.alive !== true)
        done(devices.lossError(at, 'cannot copy'));
      else copies.start({ ...operation, at: at === null ? null : devices.processorOf(at) }, done);
    }
  }

  /** No thread waits for an answer: the operation must say itself that it failed. */
  private attempt(done: OperationDone, action: () => void): void {
    try {
      action();
    } catch (error) {
      if (error instanceof NodeError) throw error;
      done(toWire(error));
    }
  }

  /**
   * Takes an operation back that waits for its device, or for other machines: true if it had not
   * begun and will not. A launch that runs is ended.
   */
  withdraw(operation: StreamOperation, reason: string): boolean {
    if (operation.kind === 'launch') return this.parts.launches.cancel(operation, reason);
    const use = this.waiting.get(operation);
    // What has all its blocks begins next.
    if (!use?.isWaiting) return false;
    this.waiting.delete(operation);
    use.end(null);
    return true;
  }
}

function usedBy(operation: Move): UsedPages[] {
  if (operation.kind === 'prefetch')
    return [{ first: operation.firstPage, count: operation.count, write: false }];
  const { from, to, bytes } = operation;
  return [usedBytes(from.offset, bytes, false), usedBytes(to.offset, bytes, true)];
}
