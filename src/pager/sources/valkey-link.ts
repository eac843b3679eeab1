/**
 * A connection that is made again when it is lost. What was asked for meanwhile is asked again: all that is asked here may be done twice.
 * Before anything else a new connection has the server end the old one, so that nothing that was sent there is done later.
 */
import { ValkeyConnection } from '../../valkey/connection.js';
import { ValkeyError } from '../../valkey/errors.js';
import type { ServerOptions } from '../protocol/space.js';

/** Between two tries to connect, from the first to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1000;
/** A connection that is lost so often while something is asked for is lost because of it. */
const TRIES = 8;

export class ValkeyLink {
  private connection: ValkeyConnection | null = null;
  private problem: ValkeyError | null = null;
  private readonly waiting = new Set<() => void>();
  /** Of the last connection: the server's run, and its number there. */
  private run = '';
  private id = 0;
  private closed = false;

  constructor(
    private readonly server: ServerOptions,
    private readonly changed: (reachable: boolean) => void,
  ) {
    void this.connect();
  }

  /**
   * Has something done on a connection, and again on the next one where it is lost.
   *
   * @throws ValkeyError when there is no connection for the time that the server has, or it answers with an error. Each action has that time
   * for itself: the server may be back when one that came before has been refused
   */
  async use<T>(action: (connection: ValkeyConnection) => Promise<T>): Promise<T> {
    const until = performance.now() + this.server.timeoutMs;
    for (let tries = 1; ; tries++) {
      const connection = this.connection ?? (await this.connected(until));
      try {
        return await action(connection);
      } catch (error) {
        if (connection.isOpen || tries === TRIES) throw error;
      }
    }
  }

  close(): void {
    this.closed = true;
    this.connection?.close();
  }

  private async connected(until: number): Promise<ValkeyConnection> {
    while (this.connection === null) {
      const left = until - performance.now();
      if (left <= 0) throw this.problem ?? new ValkeyError('TIMEOUT', 'the server does not answer');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.wake(), left);
        this.waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return this.connection;
  }

  private wake(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const each of waiting) each();
  }

  private async connect(): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !this.closed; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        await this.connectOnce();
        return;
      } catch (error) {
        this.problem = error as ValkeyError;
      }
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  private async connectOnce(): Promise<void> {
    const { url, timeoutMs, tls } = this.server;
    let isUp = false;
    const connection = await ValkeyConnection.open(url, {
      timeoutMs,
      tls,
      onEnd: (reason) => {
        if (isUp) this.lost(reason);
      },
    });
    const text = Buffer.from((await connection.call(['INFO', 'server'])) as Uint8Array).toString();
    const run = /^run_id:(\w+)/m.exec(text)?.[1] ?? '';
    // It is gone already, or a server that does not let us leaves the checksums to notice what comes late.
    if (run === this.run) await connection.call(['CLIENT', 'KILL', 'ID', this.id]).catch(ignoreReply);
    this.run = run;
    this.id = connection.info.id;
    isUp = true;
    this.connection = connection;
    this.problem = null;
    this.changed(true);
    this.wake();
  }

  private lost(reason: ValkeyError): void {
    this.connection = null;
    this.problem = reason;
    this.changed(false);
    void this.connect();
  }
}

function ignoreReply(error: ValkeyError): void {
  if (error.code !== 'REPLY') throw error;
}
