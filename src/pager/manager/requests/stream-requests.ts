/** Requests for operations in order. */
import type { Parts } from '../parts.js';
import { done, type Handlers, later } from './handling.js';

export function streamRequests(parts: Parts) {
  const { streams } = parts;
  return {
    enqueue: (operation, _answer, client) => done(streams.enqueue(operation, client)),
    estimate: (wanted, answer) => later(parts.estimates.start(wanted, answer)),
    cancel: (cancellation) => done(streams.cancel(cancellation)),
    called: ({ stream, sequence, error }) => done(streams.called(stream, sequence, error)),
    forgive: ({ stream }) => done(streams.forgive(stream)),
    endStream: ({ stream }) => done(streams.end(stream)),
  } satisfies Partial<Handlers>;
}
