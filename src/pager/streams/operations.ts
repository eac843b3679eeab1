/** Carries out what streams hold: launches, prefetches and copies. */
import { NodeError } from '../../drivers/paged-memory.js';
import type { Uses } from '../arrays/uses.js';
import type { Devices } from '../devices/devices.js';
import type { Launches } from '../devices/launches.js';
import type { OperationDone, StreamOperation } from '../protocol/operations.js';
import { toWire } from '../protocol/wire.js';
import type { Copies } from '../transfers/copies.js';
import type { Prefetches } from '../transfers/prefetches.js';

export class Operations {
  constructor(
    private readonly uses: Uses,
    private readonly devices: Devices,
    private readonly launches: Launches,
    private readonly prefetches: Prefetches,
    private readonly copies: Copies,
  ) {}

  execute(operation: StreamOperation, done: OperationDone): void {
    try {
      this.uses.check(operation);
      if (operation.kind === 'launch') {
        const { device } = operation;
        this.launches.add(this.devices.byNumber(device), operation, this.devices.explainLoss(device), done);
      } else if (operation.kind === 'prefetch') {
        const { device, firstPage, count, exclusive } = operation;
        this.prefetches.start(device, firstPage, count, exclusive, done);
      } else if (operation.kind === 'copy') {
        const at = operation.at === null ? null : this.devices.processorOf(operation.at);
        this.copies.start({ ...operation, at }, done);
      }
    } catch (error) {
      if (error instanceof NodeError) throw error;
      // Nobody waits for an answer to what a stream is given: the operation itself must say that it failed.
      done(toWire(error));
    }
  }

  /** Takes an operation back that waits for its device: true if it had not begun and will not. A launch that runs is ended. */
  withdraw(operation: StreamOperation, reason: string): boolean {
    return operation.kind === 'launch' && this.launches.cancel(operation, reason);
  }
}
