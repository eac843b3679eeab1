/** Requests that move what arrays hold: to files, from them, and between memories. */
import { usedBytes } from '../../arrays/shared/shared-uses.js';
import type { Answer } from '../../protocol/messages.js';
import type { Parts } from '../parts.js';
import { type Handlers, later } from './handling.js';

export function contentRequests(parts: Parts) {
  const { writeBack, fileTransfers, byteMoves, sharedUses, pins } = parts;

  /** Has bytes of arrays used while other machines are kept from them. */
  const whileHeld = <T>(
    operation: string,
    { offset, bytes }: { readonly offset: number; readonly bytes: number },
    writes: boolean,
    answer: Answer<T>,
    start: (answer: Answer<T>) => void,
  ): void => {
    sharedUses.during(
      operation,
      [usedBytes(offset, bytes, writes)],
      (end) => start((value, failure) => answer(value, end(failure))),
      (failure) => answer(null, failure),
    );
  };
  return {
    flush: (wanted, answer) =>
      later(
        writeBack.flush(wanted, (bytes, failure) =>
          answer(failure === null ? { bytes } : null, failure),
        ),
      ),
    reload: (wanted, answer) => {
      const { firstPage, count } = wanted;
      pins.check(firstPage, count, 'reload');
      return later(
        writeBack.reload(wanted, (failure) => {
          if (failure === null) parts.poison.restore(firstPage, count);
          answer(null, failure);
        }),
      );
    },
    readBytes: (wanted, answer) =>
      later(whileHeld('a read', wanted, false, answer, (held) => byteMoves.read(wanted, held))),
    writeBytes: (wanted, answer) =>
      later(whileHeld('a write', wanted, true, answer, (held) => byteMoves.write(wanted, held))),
    transferFile: (wanted, answer) => {
      const writes = wanted.direction === 'read';
      const operation = writes ? 'a transfer from a file' : 'a transfer to a file';
      return later(
        whileHeld(operation, wanted, writes, answer, (held) => fileTransfers.start(wanted, held)),
      );
    },
  } satisfies Partial<Handlers>;
}
