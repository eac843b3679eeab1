/** What may be done to pages, and pages whose content is forgotten. */
import type { MemoryManager } from '../../core/memory-manager.js';
import { Access } from '../../core/types.js';
import type { CoreRequests } from '../core/core-requests.js';
import type { ArrayPages } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';
import type { WireError } from '../protocol/wire.js';
import { RequestError } from '../protocol/wire.js';
import type { FileProvider } from '../sources/files.js';
import type { Arrays } from './arrays.js';
import type { Places } from './places.js';

/** Any processor but the host: pages that are pinned there count as forbidden. */
const DEVICE = 1;

type Done = (failure: WireError | null) => void;

export class Rights {
  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly arrays: Arrays,
    private readonly places: Places,
    private readonly files: FileProvider,
    /** Pages that the host's threads were denied may be used again. */
    private readonly restore: (firstPage: number, count: number) => void,
  ) {}

  protect(
    { range: id, name, firstPage, count, access }: Requests['protect']['in'],
    done: Done,
  ): void {
    const range = this.arrays.rangeOf(id);
    if (access === Access.Write && !range.writable) {
      const message = `cannot protect array ${name} as 'readwrite': it was made for reading only; make it with writable: true`;
      throw new RequestError('ACCESS_DENIED', message, { array: name });
    }
    if (access === Access.None && this.files.rangeOf(firstPage)?.source.shared === true) {
      const message =
        `cannot protect array ${name} as 'none': it is shared with a file, and what was written to it could not be read any more to ` +
        "be written there; protect it as 'read', or share it no longer";
      throw new RequestError('SHARED_NO_ACCESS', message, { array: name });
    }
    this.requests.start(
      (request) => this.manager.protect(request, firstPage, count, access),
      (_pages, failure) => {
        // What is still denied is denied again, with another message.
        if (failure === null && access !== Access.None) this.restore(firstPage, count);
        done(
          failure === null
            ? null
            : this.places.denialError(failure, firstPage, 'a change of rights'),
        );
      },
    );
  }

  discard({ firstPage, count }: ArrayPages, done: Done): void {
    // Nothing is forgotten when not all of it may be.
    const denial = this.manager.pages.denial(firstPage, count, Access.Write, DEVICE);
    const refuse = (reason: NonNullable<typeof denial>): void => {
      const page = this.places.pageWith(reason, firstPage, count);
      done(this.places.denialError(reason, page, 'a discard', true));
    };
    if (denial !== null) {
      refuse(denial);
      return;
    }
    this.requests.start(
      (request) => this.manager.zero(request, firstPage, count),
      (_pages, failure) => {
        if (failure !== null) {
          refuse(failure);
          return;
        }
        this.restore(firstPage, count);
        done(null);
      },
    );
  }
}
