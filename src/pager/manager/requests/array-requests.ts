/** Requests about arrays: made, seen, advised, freed. */
import type { Parts } from '../parts.js';
import { done, type Handlers, later, orFailure } from './handling.js';

export function arrayRequests(parts: Parts) {
  const { devices, freeing, deferred, arrays, advice, clonedArrays, rights, pins, resizing } =
    parts;
  return {
    allocate: (wanted, answer, client) => {
      const made: typeof answer = (allocated, failure) => {
        if (wanted.staging === true && allocated !== null) client.staging.add(allocated.id);
        answer(allocated, failure);
      };
      return later(arrays.allocate(wanted, made, wanted.keep === true ? null : client.process));
    },
    attachArray: (handle) => done(arrays.check(handle)),
    usable: ({ range, name, verb }) => {
      arrays.usable(range, name, verb);
      return null;
    },
    clone: (wanted, answer, client) =>
      later(clonedArrays.clone(wanted, answer, wanted.keep === true ? null : client.process)),
    resize: (wanted, answer) => later(resizing.resize(wanted, answer)),
    free: (wanted, answer) => {
      freeing.free(wanted);
      // What is done at once is done when the program goes on: a file can be shared again.
      return later(deferred.later(() => answer(null, null)));
    },
    viewed: (view, _answer, { isElsewhere }) => arrays.viewed(view, isElsewhere),
    unviewed: ({ range }) => done(arrays.countView(range, -1)),
    taken: () => null,
    protect: (wanted, answer) => later(rights.protect(wanted, orFailure(answer))),
    discard: (wanted, answer) => later(rights.discard(wanted, orFailure(answer))),
    advise: (wanted) => done(advice.advise(wanted)),
    attributes: (wanted) => advice.attributes(wanted),
    mayWrite: (wanted) => rights.mayWrite(wanted),
    pin: (wanted, answer) => later(pins.pin(wanted, answer)),
    unpin: ({ pin }) => done(parts.endPin(pin)),
    stage: (wanted, answer) => {
      const device = devices.stagingOf(wanted.device);
      return device === null ? { memory: null } : later(parts.staged.hold(wanted, device, answer));
    },
  } satisfies Partial<Handlers>;
}
