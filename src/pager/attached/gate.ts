/**
 * What a process that attached may ask. It may be written in any language, and may lie: what it
 * says is looked at as what comes over a network is.
 */
import { NUMBERS_PER_CLIENT } from '../protocol/attaching.js';
import type { FromManager, RequestName, ToManager } from '../protocol/messages.js';
import { RequestError, toWire } from '../protocol/wire.js';
import type { Grant } from './grants.js';
import type { Gate } from './line-connection.js';
import { isRecord, isWhole, type SpaceLayout, shapesOf } from './shapes.js';

/** What changes nothing that others see. */
const READING: ReadonlySet<string> = new Set<RequestName>([
  'arrays',
  'attachArray',
  'attributes',
  'check',
  'devices',
  'dirty',
  'leave',
  'pointer',
  'readBytes',
  'residency',
  'stats',
  'taken',
  'unviewed',
  'usable',
  'viewed',
]);

/** What makes arrays. */
const MAKING: ReadonlySet<string> = new Set<RequestName>(['allocate', 'clone']);

/** Members that are numbers of the client's own. */
const OWN_NUMBERS = ['stream', 'pin'] as const;

export class ProcessGate implements Gate {
  private readonly shapes: ReturnType<typeof shapesOf>;
  /** Numbers of its streams and pins lie between these. */
  private readonly first: number;

  constructor(
    private readonly grant: Grant,
    layout: SpaceLayout,
    client: number,
  ) {
    this.shapes = shapesOf(layout, client);
    this.first = client * NUMBERS_PER_CLIENT;
  }

  pass(message: unknown): ToManager {
    if (!isRecord(message)) throw malformed('it is no object');
    const { id, name, value } = message;
    if (!isWhole(id) || typeof name !== 'string') throw malformed('it is no request');
    if (!Object.hasOwn(this.shapes, name)) {
      throw new RequestError(
        'OTHER_PROCESS',
        `${name}: a process that attached to the space cannot do this; do it in the process that opened the space`,
      );
    }
    if (this.grant.rights === 'read' && !READING.has(name)) {
      throw new RequestError(
        'ACCESS_DENIED',
        `${name}: the handle by which this process attached allows to read alone`,
      );
    }
    if (this.grant.ranges !== null && MAKING.has(name)) {
      throw new RequestError(
        'ACCESS_DENIED',
        `${name}: the handle by which this process attached allows some arrays, and no new ones`,
      );
    }
    if (
      name === 'allocate' &&
      isRecord(value) &&
      ((value.file ?? null) !== null || (value.provider ?? null) !== null)
    ) {
      throw new RequestError(
        'OTHER_PROCESS',
        'a process that attached makes no arrays over files or providers; make them in the process that opened the space',
      );
    }
    if (!this.shapes[name](value)) throw malformed(`${name} has other values than it may have`);
    if (isRecord(value)) this.checkNumbers(value);
    return { id, name, value } as ToManager;
  }

  refuse(message: unknown, error: unknown): FromManager | null {
    const id = isRecord(message) ? message.id : 0;
    return isWhole(id) && id > 0 ? { id, value: null, error: toWire(error) } : null;
  }

  private checkNumbers(value: Record<string, unknown>): void {
    const { ranges } = this.grant;
    const { range } = value;
    if (ranges !== null && range !== undefined && !ranges.has(range as number))
      throw new RequestError(
        'ACCESS_DENIED',
        'the handle by which this process attached does not allow this array',
      );
    for (const name of OWN_NUMBERS) {
      const number = value[name];
      if (
        number !== undefined &&
        !(isWhole(number) && number > this.first && number < this.first + NUMBERS_PER_CLIENT)
      )
        throw malformed(`${name} ${number} is another client's`);
    }
  }
}

function malformed(why: string): RequestError {
  return new RequestError('MESSAGE', `a request was not understood: ${why}`, {}, 'TypeError');
}
