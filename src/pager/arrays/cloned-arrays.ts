/** Arrays that begin as copy-on-write clones of others. */

import type { DenyReason } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import type { Sources } from '../core/sources.js';
import type { Answer } from '../protocol/messages.js';
import type { Requests } from '../protocol/requests.js';
import type { Arrays } from './arrays.js';
import type { Clones } from './clones/clones.js';
import type { Guards } from './modules/guards.js';
import type { Places } from './table/places.js';

export class ClonedArrays {
  constructor(
    private readonly arrays: Arrays,
    private readonly guards: Guards,
    private readonly places: Places,
    private readonly clones: Clones,
    private readonly sources: Sources,
  ) {}

  /** Makes a clone, and answers when no later change of the array can be seen in it. */
  clone(
    wanted: Requests['clone']['in'],
    answer: Answer<Requests['clone']['out']>,
    process: number | null,
  ): void {
    this.guards.checkWhole(wanted.range, wanted.name, 'clone');
    const { source, range } = this.arrays.clone(wanted, process);
    this.derive(source, range, (failure) => {
      if (failure === null) {
        answer({ id: range.id, firstPage: range.first, pages: range.pages }, null);
        return;
      }
      this.arrays.free({ range: range.id, firstPage: range.first, count: range.pages });
      answer(null, this.places.denialError(failure, source.first, 'a clone'));
    });
  }

  /** Fills an untouched range from another one, by pages. `done`: that is copy-on-write. */
  derive(source: Range, range: Range, done: (failure: DenyReason | null) => void): void {
    this.sources.add(range.first, range.reserved, {
      kind: 'clone',
      provide: (token, page, count, target) =>
        this.clones.provide(range, token, page, count, target),
      end: () => this.clones.remove(range),
    });
    this.clones.add(source, range, done);
  }
}
