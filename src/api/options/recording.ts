/** A space's record of moves, and what `onemem explain` and `onemem view` make of it. */
import { resolve } from 'node:path';
import { bytesOf } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { Reader } from '../../trace/recording/reader.js';
import type { PageStory } from '../../trace/report/page-story.js';
import type { Report } from '../../trace/report/report.js';
import { INSPECT, inspectHolding } from '../arrays/parts/description.js';
import type { Client } from '../line/client.js';
import { type ArrayInternals, checkOwnArray } from '../line/internals.js';
import { checkOptions, isWhole, show } from '../values/arguments.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { argumentError, OnememError } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import { toBytes } from '../values/sizes.js';

/** Options of `space.record`. */
export interface RecordOptions {
  /**
   * About the most bytes of files, at least '64KiB': the last moves are kept, in FILE and
   * FILE.before. None by default.
   */
  readonly limit?: number | string;
}

/** What a recording wrote. */
export interface RecordingSummary {
  readonly path: string;
  /** Of moves, in all files that are left. */
  readonly bytes: number;
  /** Why the file took no more, such as a full disk. Null: it has all moves until the stop. */
  readonly failure: string | null;
}

/** What a run spent on moving pages. The text is that of `onemem explain`. */
export interface SpaceReport extends Report {
  /** For people. */
  readonly text: string;
}

/** Where a page of an array is, and why. The text is that of `onemem explain --array`. */
export interface Explanation extends PageStory {
  readonly element: number;
  /** For people: with the last 20 moves. */
  readonly text: string;
}

/** Less would be nothing but where pages were. */
const LEAST_BYTES = 64 * 1024;
const SHOWN_MOVES = 20;
const RECORD_OPTIONS: OptionNames<RecordOptions> = { limit: true };

/**
 * A recording under way, by `space.record()`. The close of the space ends it, too.
 * @example
 * const recording = await space.record('run.rec', { limit: '64MiB' });
 * const { failure } = await recording.stop();
 * console.log(failure); // null
 */
export class Recording {
  private ended: Promise<RecordingSummary> | null = null;

  /** @internal */
  constructor(
    private readonly client: Client,
    private readonly id: number,
    /** The file, as an absolute path. */
    readonly path: string,
  ) {}

  /**
   * Ends the recording. A second call gives the same. Rejects with SPACE_CLOSED after the close.
   * @example
   * const recording = await space.record('run.rec');
   * console.log((await recording.stop()).bytes >= 0); // true
   */
  stop(): Promise<RecordingSummary> {
    this.ended ??= this.client
      .request('unrecord', { id: this.id })
      .then((said) => ({ path: this.path, ...said }));
    return this.ended;
  }

  /** @internal */
  [INSPECT](): string {
    const isOver = this.ended !== null || this.client.isClosed;
    return inspectHolding('Recording', this.path, isOver ? null : 'recording.stop()');
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.client.awaitUnlessClosed(() => this.stop());
  }
}

export async function record(
  client: Client,
  file: FilePath,
  options: RecordOptions,
): Promise<Recording> {
  const path = resolve(pathOf(file));
  checkOptions('record()', options, RECORD_OPTIONS);
  const limitBytes = options.limit === undefined ? null : recordedBytes('limit', options.limit);
  client.assertOpen('cannot record');
  const { id } = await client.request('record', { path, limitBytes });
  return new Recording(client, id, path);
}

export function recordedBytes(what: string, said: number | string): number {
  const bytes = toBytes(what, said, '64KiB');
  if (bytes >= LEAST_BYTES) return bytes;
  throw argumentError('SIZE', `${what} is ${bytes}; it must be ${LEAST_BYTES} (64KiB) or more`);
}

export async function report(client: Client): Promise<SpaceReport> {
  const [{ Costs }, { reportText }] = await Promise.all([
    import('../../trace/report/report.js'),
    import('../../trace/report/report-text.js'),
  ]);
  const costs = new Costs();
  await readHistory(client, costs.reader);
  const made = costs.report();
  return { ...made, text: reportText(made) };
}

export async function explain(
  client: Client,
  array: ArrayInternals,
  element: number,
): Promise<Explanation> {
  checkOwnArray(client, 'explain() takes a managed array', array);
  if (!isWhole(element, 0) || element >= array.length) {
    const message = `element is ${show(element)}; array ${array.name} has elements 0 to ${array.length - 1}`;
    throw argumentError('ARRAY_INDEX', message);
  }
  array.assertUsable('explain');
  const { name, offset } = array;
  const [{ Collector }, { storyOf }, { storyText }] = await Promise.all([
    import('../../trace/recording/history.js'),
    import('../../trace/report/page-story.js'),
    import('../../trace/report/report-text.js'),
  ]);
  const collector = new Collector();
  await readHistory(client, collector.reader);
  const first = Math.floor(offset / PAGE_BYTES);
  const page = Math.floor((offset + element * bytesOf(array.type)) / PAGE_BYTES);
  const story = storyOf(collector.history, page);
  const place = `${name}[${element}], page ${page - first} of the array`;
  return { ...story, element, text: storyText(story, place, SHOWN_MOVES) };
}

async function readHistory(client: Client, reader: Reader): Promise<void> {
  client.assertOpen('cannot tell what moved');
  const { texts } = await client.request('history', null);
  if (texts === null) {
    const remedy =
      "open it by openSpace({ history: '16MiB' }), or begin with space.record('run.rec')";
    throw new OnememError('NO_HISTORY', `the space has kept no moves; ${remedy}`);
  }
  const { readTexts } = await import('../../trace/recording/moves-text.js');
  readTexts(reader, texts, 'the history of the space');
}
