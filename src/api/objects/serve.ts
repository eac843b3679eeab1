/** The live picture of a space, for a browser: a web server in a thread of its own. */
import type { Worker } from 'node:worker_threads';
import { pictureFile } from '../../linux/own-files.js';
import type { Failed, FromLiveThread } from '../../live/protocol.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { ArrayHandle } from '../arrays/parts/array-handle.js';
import { INSPECT, inspectHolding } from '../arrays/parts/description.js';
import type { Client } from '../line/client.js';
import { type ArrayInternals, checkOwnArray } from '../line/internals.js';
import { checkOptions, isWhole, show } from '../values/arguments.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { argumentError, typeError } from '../values/errors.js';
import { endLiveThread, startLiveThread } from './live-thread.js';

type Handled = ArrayInternals & { readonly handle: ArrayHandle };

/** As users see them, but for arrays. */
interface Points {
  readonly name?: string;
  readonly x?: Handled;
  readonly y: Handled;
}

interface Options {
  readonly port?: number;
  readonly points?: readonly Points[];
}

const SERVE_OPTIONS: OptionNames<Options> = { port: true, points: true };
const POINTS_OPTIONS: OptionNames<Points> = { name: true, x: true, y: true };
const LAST_PORT = 65_535;

/** Arrays whose elements the page may draw as points. */
interface PointsData {
  readonly name: string;
  /** Null: the index of the element. */
  readonly x: ArrayHandle | null;
  readonly y: ArrayHandle;
}

export interface PictureThreadData {
  readonly handle: SpaceHandle | string;
  /** 0: any that is free. */
  readonly port: number;
  readonly title: string;
  readonly points: readonly PointsData[];
}

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
  options: Options,
): Promise<SpaceServer> {
  checkOptions('serve()', options, SERVE_OPTIONS);
  const { port = 0 } = options;
  if (options.port !== undefined && (!isWhole(port, 1) || port > LAST_PORT))
    throw argumentError('PORT', `port is ${show(port)}; it must be from 1 to ${LAST_PORT}`);
  const points = pointsOf(client, options.points ?? []);
  const data: PictureThreadData = { handle, port, title: `process ${client.handle.owner}`, points };
  const { thread, said } = await startLiveThread<FromLiveThread>(client, pictureFile(), data, {
    name: 'onemem picture',
    what: 'cannot serve the picture',
    problem: (failed) => problem(failed, port),
  });
  return new SpaceServer(thread, said.url);
}

function pointsOf(client: Client, points: readonly Points[]): PointsData[] {
  if (!Array.isArray(points))
    throw typeError('OPTIONS', `points is a list of { x, y }, not ${show(points)}`);
  return points.map((each, at) => {
    const what = `points[${at}]`;
    checkOptions(what, each, POINTS_OPTIONS);
    const { x, y, name } = each;
    for (const [axis, array] of Object.entries(x === undefined ? { y } : { x, y }))
      checkOwnArray(client, `${what}.${axis} is a managed array`, array);
    if (name !== undefined && typeof name !== 'string')
      throw typeError('OPTIONS', `${what}.name is a text, not ${show(name)}`);
    return { name: name ?? y.name, x: x?.handle ?? null, y: y.handle };
  });
}

function problem(said: Failed, port: number): string {
  if (said.code === 'EADDRINUSE')
    return `port ${port} is in use; name another one, or none for any that is free`;
  if (said.code === 'EACCES')
    return `port ${port} needs a privilege; name one above 1023, or none for any that is free`;
  return said.failed;
}
