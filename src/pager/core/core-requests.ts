/** Requests to the core that are under way, and what is to be done when they have ended. */
import type { DenyReason } from '../../core/basics/types.js';

export type RequestDone = (pages: number, failure: DenyReason | null) => void;

export class CoreRequests {
  private readonly waiting = new Map<number, RequestDone>();
  private last = 0;

  /** A number that no other request has. */
  reserve(): number {
    return ++this.last;
  }

  /** Calls `done` when the core says that the request with this number is through. */
  expect(request: number, done: RequestDone): void {
    this.waiting.set(request, done);
  }

  start(begin: (request: number) => void, done: RequestDone): void {
    const request = this.reserve();
    this.expect(request, done);
    begin(request);
  }

  forget(request: number): void {
    this.waiting.delete(request);
  }

  finished(request: number, pages: number, failure: DenyReason | null): void {
    const done = this.waiting.get(request);
    this.waiting.delete(request);
    done?.(pages, failure);
  }
}
