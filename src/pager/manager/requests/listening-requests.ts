/** Requests for code of the program's that hears of pages, or is asked about them. */
import { closeDescriptor } from '../../../linux/base/libc.js';
import type { Sequence } from '../../protocol/sequence.js';
import { toWire } from '../../protocol/wire.js';
import type { Parts } from '../parts.js';
import { done, type Handlers, later, orFailure } from './handling.js';

export function listeningRequests(parts: Parts) {
  const { arrays, notifiers, guards } = parts;
  return {
    watch: ({ range, name, ...wishes }, answer, client) => {
      arrays.usable(range, name, 'watch');
      const watched = (sequence: Sequence | null, failure: unknown): void => {
        if (sequence === null) {
          answer(null, toWire(failure));
          return;
        }
        // What it was mapped from is not needed any more.
        if (wishes.memory !== null) closeDescriptor(wishes.memory);
        answer({ memory: sequence.memory }, null);
      };
      return later(notifiers.add(range, wishes, client, watched));
    },
    unwatch: ({ subscription }) => done(notifiers.remove(subscription)),
    heard: ({ subscription }) => done(notifiers.heard(subscription)),
    guard: (wanted, answer) => {
      arrays.usable(wanted.range, wanted.name, 'guard');
      return later(guards.add(wanted, orFailure(answer)));
    },
    unguard: (wanted, answer) =>
      later(
        guards.remove(wanted, (range) => {
          if (range !== null) parts.poison.restore(range.first, range.pages);
          answer(null, null);
        }),
      ),
    guardReport: (wanted) => ({ report: guards.report(wanted) }),
  } satisfies Partial<Handlers>;
}
