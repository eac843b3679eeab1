/** What a program and the thread of its live picture say to each other. */
import type { SpaceHandle } from '../pager/protocol/space.js';

export interface LiveThreadData {
  readonly handle: SpaceHandle | string;
  /** 0: any that is free. */
  readonly port: number;
  readonly title: string;
}

/** Its first message; any message to it ends it. */
export type FromLiveThread =
  | { readonly url: string }
  /** `code`: the name of an error number, or empty. */
  | { readonly failed: string; readonly code: string };
