/** Requests that let other processes and machines have the space or arrays of it. */
import { Control } from '../../protocol/control.js';
import type { Closing } from '../closing.js';
import type { Parts } from '../parts.js';
import { done, type Handlers, later, orFailure } from './handling.js';

export function sharingRequests(parts: Parts, closing: Closing) {
  const { attachments, arrays, sharedArrays, quotas } = parts;
  return {
    shareSpace: ({ rights: allowed, ranges }) => {
      closing.refuse();
      Atomics.store(parts.control, Control.OtherProcesses, 1);
      return { handle: attachments.share(allowed, ranges) };
    },
    show: () => {
      closing.refuse();
      return done(attachments.show());
    },
    nameSpace: ({ name, quotas: limits }) => {
      closing.refuse();
      Atomics.store(parts.control, Control.OtherProcesses, 1);
      attachments.listenAs(name);
      return done(quotas.set(limits));
    },
    share: (wanted) => {
      closing.refuse();
      return done(arrays.share(wanted));
    },
    sharing: ({ range, name, call }, answer) => {
      arrays.usable(range, name, call.kind === 'fence' ? 'fence' : 'wait at a barrier of');
      return later(sharedArrays.call(range, call, orFailure(answer)));
    },
  } satisfies Partial<Handlers>;
}
