/** How a driver and its engine reach each other. The driver never waits for the engine. */

export interface EngineLink {
  /** Ready for a poller when the engine has said something. */
  readonly socket: { readonly fd: number };
  /** Ready for a poller when the engine has ended. */
  readonly pidfd: number;
  /** Of its process; null: it is a thread of the program. */
  readonly pid: number | null;
  /** Resolves when nothing of its end is left to be seen. */
  readonly exited: Promise<void>;
  /** Whether packets wait to be sent. */
  readonly waiting: boolean;
  /** Why it has ended. */
  readonly endReason: string;
  post(packet: Uint8Array): void;
  sendRest(): void;
  /** The next packet, or null. Never waits. */
  receive(): { readonly bytes: Uint8Array } | null;
  /** Ends it at once. */
  kill(why: string | null): void;
  close(): void;
}
