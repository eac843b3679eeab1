/** AbortSignals of streams and of single operations. */
import { isObject, show, textOf } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import type { Client } from './client.js';
import type { DeviceInternals } from './internals.js';

/** Refuses what is no signal, by name. */
export function checkSignal(signal: unknown): void {
  if (signal === undefined || isSignal(signal)) return;
  throw typeError(
    'SIGNAL',
    `signal is ${show(signal)}; it must be an AbortSignal, such as new AbortController().signal`,
  );
}

/** Told by what it has: signals of another realm or of a simulated browser are as good. */
function isSignal(signal: unknown): boolean {
  if (!isObject(signal)) return false;
  const { aborted, addEventListener } = signal as { aborted?: unknown; addEventListener?: unknown };
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}

/** Refuses what is no time, and a time for what cannot be ended. */
export function checkTimeout(timeoutMs: unknown, device: DeviceInternals): void {
  if (timeoutMs === undefined) return;
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    throw argumentError(
      'TIMEOUT_MS',
      `timeoutMs is ${show(timeoutMs)}; it must be a number of milliseconds above 0`,
    );
  }
  const { cancellation, kernels } = device.capabilities;
  if (cancellation) return;
  const between =
    '; signal: AbortSignal.timeout(ms) ends a launch that has several parts or rounds before its next one';
  throw typeError(
    'NO_CANCELLATION',
    `device ${device.name} (${device.kind}) cannot end a kernel that runs; leave out timeoutMs, or use a device whose ` +
      `capabilities.cancellation is true, such as a process device${kernels === 'wgsl' ? between : ''}`,
  );
}

/** The reason of a signal, in words, for a reader of the message who does not see the signal. */
export function reasonOf(signal: AbortSignal): string {
  return `its signal was aborted (${textOf(signal.reason)})`;
}

/** What a stream and its signal's listener share; the stream itself may be collected. */
export interface StreamState {
  readonly id: number;
  closed: boolean;
}

/**
 * Has everything of a stream that has not begun cancelled when the signal is aborted, and a launch
 * that runs ended. Returns how to stop listening.
 */
export function cancelStreamOn(
  signal: AbortSignal,
  client: Client,
  state: StreamState,
): () => void {
  const abort = (): void =>
    client.tell('cancel', {
      stream: state.id,
      sequence: null,
      ended: state.closed,
      reason: reasonOf(signal),
    });
  if (signal.aborted) {
    abort();
    return () => undefined;
  }
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}

export function cancelOperationOn(
  signal: AbortSignal,
  client: Client,
  stream: number,
  sequence: number,
): () => void {
  const abort = (): void =>
    client.tell('cancel', { stream, sequence, ended: true, reason: reasonOf(signal) });
  signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
