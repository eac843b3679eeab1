/** Bytes for threads that must not fault: the manager's own mapping has every host page. */

import { Access } from '../../core/basics/types.js';
import { NativeBuffer } from '../../linux/base/native-buffer.js';
import { readMemory, writeMemory } from '../../linux/memory/memory.js';
import type { SpaceContext } from '../arrays/table/context.js';
import { withHostBytes } from '../arrays/table/host-bytes.js';
import type { Answer } from '../protocol/messages.js';
import { READ_BYTES, type Requests } from '../protocol/requests.js';
import type { MappedReads } from './mapped-reads.js';

export class ByteMoves {
  constructor(
    private readonly context: SpaceContext,
    private readonly mapped: MappedReads,
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
      readMemory(data, this.context.memory + offset);
      return { data };
    });
  }

  write({ offset, bytes, data }: Requests['writeBytes']['in'], answer: Answer<null>): void {
    this.hold(offset, bytes, Access.Write, 'a write', answer, () => {
      writeMemory(this.context.memory + offset, data.subarray(0, Math.min(bytes, READ_BYTES)));
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
    const { places } = this.context;
    let moved: T | null = null;
    withHostBytes(
      this.context,
      { at: offset, bytes },
      access,
      () => {
        moved = move();
      },
      (failure, page) => {
        if (failure === null) answer(moved, null);
        else answer(null, places.denialError(failure, page, operation));
      },
    );
  }
}
