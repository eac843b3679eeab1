/** Pages that a program brings ahead of use, perhaps for one processor alone. */

import {
  Access,
  HOST_NODE,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../../core/basics/types.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Devices } from '../devices/devices.js';
import type { OperationDone } from '../protocol/operations.js';
import { wireError } from '../protocol/wire.js';

export class Prefetches {
  constructor(
    private readonly context: SpaceContext,
    private readonly devices: Devices,
  ) {}

  /** Has a processor get pages, as by a prefetch. */
  bring(processor: ProcessorId, firstPage: number, count: number, done: OperationDone): void {
    this.start(this.devices.numberOf(processor), firstPage, count, false, done);
  }

  /** @param device its number; 0: the host */
  start(
    device: number,
    firstPage: number,
    wanted: number,
    exclusive: boolean,
    done: OperationDone,
  ): void {
    const id = this.devices.processorOf(device);
    const processor = this.context.manager.processor(id);
    if (processor === undefined || processor.state !== 'alive') {
      done(this.devices.lossError(device, 'cannot prefetch'));
      return;
    }
    // More than the node holds would push out what the same prefetch brought.
    const budgetPages = this.context.manager.node(processor.localNode)?.budgetPages ?? 0;
    const room = budgetPages - (processor.localNode === HOST_NODE ? 0 : PAGES_PER_BLOCK);
    const count = Math.min(wanted, room);
    const access = exclusive ? Access.Write : Access.Read;
    const operation = exclusive ? 'exclusive access' : 'a prefetch';
    const denied = this.context.manager.pages.denial(firstPage, count, access, id);
    if (denied !== null) {
      done(this.context.places.denialError(denied, firstPage, operation));
      return;
    }
    if (exclusive && count < wanted) {
      const needs = `exclusive access to ${wanted * PAGE_BYTES} bytes needs as much memory on ${processor.description.name}`;
      const message = `${needs}, which has room for ${room * PAGE_BYTES}; ask for smaller parts`;
      const details = { requestedBytes: wanted * PAGE_BYTES, budgetBytes: room * PAGE_BYTES };
      done(wireError('DEVICE_MEMORY', message, details));
      return;
    }
    this.devices.get(id)?.process?.engine?.expect([{ first: firstPage, end: firstPage + count }]);
    this.context.requests.start(
      (request) =>
        this.context.manager.acquire(request, id, firstPage, count, access, { exclusive }),
      (pages, failure) => {
        if (failure === 'DEVICE_LOST') {
          done(this.devices.lossError(device, `${operation} was given up`));
          return;
        }
        const page =
          failure === null ? firstPage : this.context.places.pageWith(failure, firstPage, count);
        const error =
          failure === null ? null : this.context.places.denialError(failure, page, operation);
        done(error, { bytes: pages * PAGE_BYTES, pages: count });
      },
    );
  }
}
