/** What can be wrong with a Valkey server, or with the way to it. */

/**
 * URL: it is none. UNREACHABLE: there is no connection to be had. REFUSED: the server does not let
 * us in, or is too old. REPLY: the answer to a command is an error of the server's. TIMEOUT: it has
 * not answered for too long. ENDED: the connection is gone. PROTOCOL: what came is no answer.
 * TOO_LARGE: a value does not fit the memory that it was to be read into.
 */
export type ValkeyErrorCode =
  | 'URL'
  | 'UNREACHABLE'
  | 'REFUSED'
  | 'REPLY'
  | 'TIMEOUT'
  | 'ENDED'
  | 'PROTOCOL'
  | 'TOO_LARGE';

export class ValkeyError extends Error {
  override readonly name = 'ValkeyError';
  /** The first word of a server's error, which is its kind: OOM, MOVED, WRONGPASS; or ''. */
  readonly word: string;

  constructor(
    readonly code: ValkeyErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.word = code === 'REPLY' ? (/^[A-Z]+/.exec(message)?.[0] ?? '') : '';
  }
}

/** A part of a cluster cannot be used: its server died, and no replica took over yet. */
export class PartDownError extends ValkeyError {}
