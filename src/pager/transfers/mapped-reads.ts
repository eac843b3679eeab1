/**
 * Bytes of arrays over mapped files, for requests that need them in other memory: read from the
 * file itself, so that no page of the host's memory is taken for them.
 */
import { PAGE_BYTES } from '../../core/basics/types.js';
import { moveWithoutWaiting } from '../../linux/files/file-io.js';
import type { FileProvider, FileRange } from '../sources/files.js';
import { type IoEngine, Job } from '../sources/io-ring.js';

export class MappedReads {
  constructor(
    private readonly files: FileProvider,
    private readonly engine: IoEngine,
  ) {}

  /** The mapped file that has the byte; null: it is in pages of the space. */
  rangeAt(offset: number): FileRange | null {
    const range = this.files.rangeOf(Math.floor(offset / PAGE_BYTES));
    return range?.source.mapped === true ? range : null;
  }

  /**
   * Reads bytes of the range to an address. `done` gets false where the file does not give all of
   * them: asking for their pages tells why, after it has been tried again.
   */
  read(
    { firstPage, source }: FileRange,
    offset: number,
    bytes: number,
    address: number,
    done: (complete: boolean) => void,
  ): void {
    const position = source.offset + offset - firstPage * PAGE_BYTES;
    const got = Math.max(0, moveWithoutWaiting('read', source.fd, address, bytes, position));
    if (got === bytes) {
      done(true);
      return;
    }
    const length = bytes - got;
    const { fd } = source;
    const rest = { kind: Job.Read, fd, address: address + got, length, offset: position + got };
    this.engine.begin({ ...rest, done: (result) => done(result === length) });
  }
}
