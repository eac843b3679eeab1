/** What is done about each request: the handlers of all of them, and the way to one. */
import type { Answer, RequestMessage, RequestName } from '../protocol/messages.js';
import type { Client } from './clients.js';
import type { Closing } from './closing.js';
import type { Parts } from './parts.js';
import { arrayRequests } from './requests/array-requests.js';
import { contentRequests } from './requests/content-requests.js';
import { deviceRequests } from './requests/device-requests.js';
import { done, type Handlers, LATER, later, type Out } from './requests/handling.js';
import { listeningRequests } from './requests/listening-requests.js';
import { reportRequests } from './requests/report-requests.js';
import { sharingRequests } from './requests/sharing-requests.js';
import { streamRequests } from './requests/stream-requests.js';

/** Has the request's handler do what is asked, and answers unless the handler does so later. */
export function carryOut<K extends RequestName>(
  handlers: Handlers,
  message: RequestMessage<K>,
  answer: Answer<Out<K>>,
  client: Client,
): void {
  const result = handlers[message.name](message.value, answer, client);
  if (result !== LATER) answer(result, null);
}

/** The compiler misses here what none of these handles. */
export function handlersOf(parts: Parts, closing: Closing): Handlers {
  return {
    ...arrayRequests(parts),
    ...sharingRequests(parts, closing),
    ...contentRequests(parts),
    ...reportRequests(parts),
    ...listeningRequests(parts),
    ...streamRequests(parts),
    ...deviceRequests(parts, closing),
    leave: (_wanted, _answer, client) => done(parts.notifiers.forget(client)),
    close: ({ timeoutMs, closed }, answer) => later(closing.close(timeoutMs, closed, answer)),
  };
}
