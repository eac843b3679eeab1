/**
 * Bytes of arrays for threads that must not fault for them: copied by the manager, whose own
 * mapping has every page of the host's memory.
 */
import type { MemoryManager } from '../../core/memory-manager.js';
import { Access, HOST_NODE, PAGE_BYTES } from '../../core/types.js';
import { readMemory, writeMemory } from '../../linux/memory.js';
import { NativeBuffer } from '../../linux/native-buffer.js';
import type { Places } from '../arrays/places.js';
import type { CoreRequests } from '../core/core-requests.js';
import type { Answer } from '../protocol/messages.js';
import { READ_BYTES, type Requests } from '../protocol/requests.js';
import type { MappedReads } from './mapped-reads.js';

export class ByteMoves {
  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly places: Places,
    private readonly mapped: MappedReads,
    /** The manager's address of page 0 of the host's memory. */
    private readonly memory: number,
  ) {}

  /** At most READ_BYTES: no more is copied between two looks at the faults. */
  read(
    { offset, bytes }: Requests['readBytes']['in'],
    answer: Answer<Requests['readBytes']['out']>,
  ): void {
    const range = this.mapped.rangeAt(offset);
    if (range === null) {
      this.readPages(offset, bytes, answer);
      return;
    }
    const buffer = new NativeBuffer(Math.min(bytes, READ_BYTES));
    this.mapped.read(range, offset, buffer.length, buffer.address, (complete) => {
      if (complete) answer({ data: buffer.bytes }, null);
      else this.readPages(offset, bytes, answer);
    });
  }

  private readPages(
    offset: number,
    bytes: number,
    answer: Answer<Requests['readBytes']['out']>,
  ): void {
    this.hold(offset, bytes, Access.Read, 'a read', answer, () => {
      const data = new Uint8Array(Math.min(bytes, READ_BYTES));
      readMemory(data, this.memory + offset);
      return { data };
    });
  }

  write({ offset, bytes, data }: Requests['writeBytes']['in'], answer: Answer<null>): void {
    this.hold(offset, bytes, Access.Write, 'a write', answer, () => {
      writeMemory(this.memory + offset, data.subarray(0, Math.min(bytes, READ_BYTES)));
      return null;
    });
  }

  private hold<T>(
    offset: number,
    bytes: number,
    access: Access,
    operation: string,
    answer: Answer<T>,
    move: () => T,
  ): void {
    const first = Math.floor(offset / PAGE_BYTES);
    const count = Math.ceil((offset + bytes) / PAGE_BYTES) - first;
    this.requests.start(
      (request) => this.manager.bring(request, HOST_NODE, first, count, access, { hold: true }),
      (_pages, failure) => {
        // What failed holds nothing: a release would end the hold of another request.
        if (failure !== null) {
          const page = this.places.pageWith(failure, first, count);
          answer(null, this.places.denialError(failure, page, operation));
          return;
        }
        const moved = move();
        this.manager.release(HOST_NODE, first, count, access);
        answer(moved, null);
      },
    );
  }
}
