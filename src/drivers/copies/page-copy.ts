/** Makes a copy by numbers in the ring: fills and maps pages, in any thread. */
import { Access } from '../../core/basics/types.js';
import { MADV_POPULATE_WRITE } from '../../linux/base/constants.js';
import { copyMemory, tryMadvise } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { insertPages } from '../page-filling.js';
import { Kind, Word } from './copy-ring.js';

export class PageCopier {
  /** For all descriptors, each of which is set before a call. */
  private readonly faults = Userfaultfd.fromFd(-1);

  constructor(private readonly words: Float64Array) {}

  /** Makes the copy at this place, and writes there how that ended. */
  carryOut(at: number): void {
    const { words, faults } = this;
    const kind = words[at + Word.Kind];
    const source = words[at + Word.Source];
    const memory = words[at + Word.Memory];
    const address = words[at + Word.Address];
    const length = words[at + Word.Length];
    const access = words[at + Word.Access];
    faults.fd = words[at + Word.Faults];
    if (kind === Kind.Insert) {
      this.end(
        at,
        insertPages(faults, address, source, length, access === Access.Read),
        faults.progress,
      );
      return;
    }
    const refused = kind === Kind.Populate ? tryMadvise(memory, length, MADV_POPULATE_WRITE) : 0;
    if (refused !== 0) {
      this.end(at, refused, -1);
      return;
    }
    copyMemory(memory, source, length);
    if (access === Access.None) this.end(at, 0, length);
    else this.end(at, faults.continue_(address, length, access === Access.Read), faults.progress);
  }

  private end(at: number, result: number, progress: number): void {
    this.words[at + Word.Result] = result;
    this.words[at + Word.Progress] = progress;
  }
}
