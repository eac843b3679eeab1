/** What may be done to pages, and pages whose content is forgotten. */

import { Access, HOST, NO_PROCESSOR } from '../../core/basics/types.js';
import type { ArrayPages } from '../protocol/pages.js';
import type { Requests } from '../protocol/requests.js';
import type { WireError } from '../protocol/wire.js';
import { RequestError } from '../protocol/wire.js';
import type { FileProvider } from '../sources/files.js';
import type { Arrays } from './arrays.js';
import type { SpaceContext } from './table/context.js';

type Done = (failure: WireError | null) => void;

export class Rights {
  constructor(
    private readonly context: SpaceContext,
    private readonly arrays: Arrays,
    private readonly files: FileProvider,
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
    this.context.requests.start(
      (request) => this.context.manager.protect(request, firstPage, count, access),
      (_pages, failure) => {
        // What is still denied is denied again, with another message.
        if (failure === null && access !== Access.None) this.context.restore(firstPage, count);
        done(
          failure === null
            ? null
            : this.context.places.denialError(failure, firstPage, 'a change of rights'),
        );
      },
    );
  }

  mayWrite({ firstPage, count }: ArrayPages): boolean {
    const { pages } = this.context.manager;
    // Other machines give the right when it is asked for.
    if (pages.rangeOf(firstPage)?.shared === true) return true;
    return pages.denial(firstPage, count, Access.Write, HOST) === null;
  }

  discard({ firstPage, count }: ArrayPages, done: Done): void {
    // Nothing is forgotten when not all of it may be, nor what is pinned.
    const denial = this.context.manager.pages.denial(firstPage, count, Access.Write, NO_PROCESSOR);
    const refuse = (reason: NonNullable<typeof denial>): void => {
      const page = this.context.places.pageWith(reason, firstPage, count);
      done(this.context.places.denialError(reason, page, 'a discard', true));
    };
    if (denial !== null) {
      refuse(denial);
      return;
    }
    this.context.requests.start(
      (request) => this.context.manager.zero(request, firstPage, count),
      (_pages, failure) => {
        if (failure !== null) {
          refuse(failure);
          return;
        }
        this.context.restore(firstPage, count);
        done(null);
      },
    );
  }
}
