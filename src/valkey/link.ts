/**
 * A connection to one server that is made again when it is lost. Before anything else a new one has
 * the server end the old one, so that nothing that was sent there is done later.
 */
import type { ValkeyAddress } from './address.js';
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';
import { firstOf } from './first-of.js';
import { replyText } from './replies.js';

export interface LinkOptions
  extends Pick<ConnectionOptions, 'timeoutMs' | 'tls' | 'receiverOf' | 'senderOf'> {
  /** Is done before anything else on a new connection, which is none if it fails. */
  readonly recognize?: (connection: ValkeyConnection) => Promise<void>;
}

/** Between two tries to connect, from the first to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;

/** Waits between two tries, each time twice as long as before. */
export class Pauses {
  private ms = FIRST_PAUSE_MS;

  reset(): void {
    this.ms = FIRST_PAUSE_MS;
  }

  async next(most = Number.POSITIVE_INFINITY): Promise<void> {
    const { ms } = this;
    this.ms = Math.min(ms * 2, LONGEST_PAUSE_MS);
    await new Promise((resolve) => setTimeout(resolve, Math.min(ms, most)));
  }
}

export class ValkeyLink {
  connection: ValkeyConnection | null = null;
  /** Why there is none. */
  problem: ValkeyError | null = null;
  /** Of the last connection: the server's run, and its number there. */
  private run = '';
  private id = 0;
  private closed = false;

  /**
   * @param addresses of one server, or several of which any will do: the first that answers is
   * connected to, each time anew
   * @param changed is told when there is a connection, and when there is none any more
   */
  constructor(
    readonly addresses: readonly ValkeyAddress[],
    private readonly options: LinkOptions,
    private readonly changed: (link: ValkeyLink) => void,
  ) {
    void this.connect();
  }

  close(): void {
    this.closed = true;
    this.connection?.close();
  }

  private async connect(): Promise<void> {
    const pauses = new Pauses();
    while (!this.closed) {
      try {
        await firstOf(this.addresses, (address) => this.connectOnce(address));
        return;
      } catch (error) {
        this.problem = error as ValkeyError;
      }
      await pauses.next();
    }
  }

  private async connectOnce(address: ValkeyAddress): Promise<void> {
    let isUp = false;
    const { recognize, ...options } = this.options;
    const connection = await ValkeyConnection.open(address, {
      ...options,
      onEnd: (reason) => {
        if (isUp) this.lost(reason);
      },
    });
    try {
      await this.greet(connection);
      await recognize?.(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    if (this.closed) connection.close();
    if (!connection.isOpen)
      throw new ValkeyError('ENDED', `the connection to ${address.shown} is gone`);
    isUp = true;
    this.connection = connection;
    this.problem = null;
    this.changed(this);
  }

  private async greet(connection: ValkeyConnection): Promise<void> {
    // A server that does not let us, in either of these, leaves the checksums to notice what comes
    // late.
    const about = await connection.call(['INFO', 'server']).catch(ignoreReply);
    const run = /^run_id:(\w+)/m.exec(replyText(about))?.[1] ?? '';
    if (run !== '' && run === this.run)
      await connection.call(['CLIENT', 'KILL', 'ID', this.id]).catch(ignoreReply);
    this.run = run;
    this.id = connection.info.id;
  }

  private lost(reason: ValkeyError): void {
    this.connection = null;
    this.problem = reason;
    this.changed(this);
    void this.connect();
  }
}

function ignoreReply(error: ValkeyError): undefined {
  if (error.code !== 'REPLY') throw error;
}
