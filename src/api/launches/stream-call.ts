/** Functions of the program's that streams call in their order. */

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { type WireError, wireError } from '../../pager/protocol/wire.js';
import { isError, textOf } from '../values/arguments.js';
import { OnememError } from '../values/errors.js';

/** A place in a stream, and what a function there threw. */
interface Place {
  readonly stream: object;
  readonly sequence: number;
  thrown: { readonly value: unknown } | null;
}

/** The call in whose course code runs, through all that it awaits. */
interface Call {
  readonly event: Place;
  running: boolean;
}

const calls = new AsyncLocalStorage<Call>();

/**
 * Prepares a function for its call, in the asynchronous context of the caller. The result tells how
 * it ended.
 * @param isOurs whether the function is the package's own, whose errors keep their names
 */
export function prepareCall(
  event: Place,
  callback: () => unknown,
  isOurs: boolean,
): () => Promise<WireError | null> {
  const resource = new AsyncResource('OnememStreamCall');
  return async () => {
    const call: Call = { event, running: true };
    try {
      await resource.runInAsyncScope(() => calls.run(call, callback));
      return null;
    } catch (thrown) {
      event.thrown = { value: thrown };
      const stack = stackOf(thrown);
      if (isOurs && thrown instanceof OnememError) {
        const { code, message, details } = thrown;
        return wireError(code, message, details);
      }
      const message = `a function that the stream called failed: ${textOf(thrown)}`;
      return wireError('CALLBACK_ERROR', message, {}, stack);
    } finally {
      call.running = false;
    }
  };
}

function stackOf(thrown: unknown): string | undefined {
  if (!isError(thrown)) return undefined;
  const { stack } = thrown as { stack?: unknown };
  return typeof stack === 'string' ? stack : undefined;
}

/** Throws where a function on a stream waits for what comes after it: neither would end. */
export function refuseDeadlock({ stream, sequence }: Place): void {
  const call = calls.getStore();
  if (call?.running !== true || call.event.stream !== stream || sequence < call.event.sequence)
    return;
  throw new OnememError(
    'DEADLOCK',
    'a function that the stream called waits for its own stream, which waits for the function; let it return first, or use another stream',
  );
}
