/** The live picture of a space, for a browser: a web server in a thread of its own. */
import type { Worker } from 'node:worker_threads';
import { liveFile } from '../../linux/own-files.js';
import type { Failed, FromLiveThread, LiveThreadData } from '../../live/protocol.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import { INSPECT, inspectHolding } from '../arrays/description.js';
import type { Client } from '../line/client.js';
import { checkOptions, isWhole, show } from '../values/arguments.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { argumentError } from '../values/errors.js';
import { endLiveThread, startLiveThread } from './live-thread.js';

/** Options of `space.serve`. */
export interface ServeOptions {
  /** From 1 to 65535; any that is free by default. */
  readonly port?: number;
}

const SERVE_OPTIONS: OptionNames<ServeOptions> = { port: true };
const LAST_PORT = 65_535;

/**
 * The live picture of a space under way, by `space.serve()`. It does not keep the process alive.
 * The close of the space ends it, too.
 * @example
 * const server = await space.serve();
 * console.log(server.url.startsWith('http://127.0.0.1:')); // true
 * await server.close();
 */
export class SpaceServer {
  private ended: Promise<void> | null = null;

  /** @internal */
  constructor(
    private readonly thread: Worker,
    /** With the token that lets a browser in: who has it sees names of arrays and kernels. */
    readonly url: string,
  ) {}

  /**
   * Ends the server. A second call gives the same.
   * @example
   * const server = await space.serve();
   * console.log(await server.close()); // undefined
   */
  close(): Promise<void> {
    this.ended ??= endLiveThread(this.thread);
    return this.ended;
  }

  /** @internal */
  [INSPECT](): string {
    return inspectHolding('SpaceServer', this.url, this.ended ? null : 'server.close()');
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }
}

/** @param handle for the thread */
export async function serve(
  client: Client,
  handle: SpaceHandle | string,
  options: ServeOptions,
): Promise<SpaceServer> {
  checkOptions('serve()', options, SERVE_OPTIONS);
  const { port = 0 } = options;
  if (options.port !== undefined && (!isWhole(port, 1) || port > LAST_PORT))
    throw argumentError('PORT', `port is ${show(port)}; it must be from 1 to ${LAST_PORT}`);
  const data: LiveThreadData = { handle, port, title: `process ${client.handle.owner}` };
  const { thread, said } = await startLiveThread<FromLiveThread>(client, liveFile(), data, {
    name: 'onemem picture',
    what: 'cannot serve the picture',
    problem: (failed) => problem(failed, port),
  });
  return new SpaceServer(thread, said.url);
}

function problem(said: Failed, port: number): string {
  if (said.code === 'EADDRINUSE')
    return `port ${port} is in use; name another one, or none for any that is free`;
  if (said.code === 'EACCES')
    return `port ${port} needs a privilege; name one above 1023, or none for any that is free`;
  return said.failed;
}
