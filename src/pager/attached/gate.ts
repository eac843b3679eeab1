/**
 * What a process that attached may ask. It may be written in any language, and may lie: what it
 * says is looked at as what comes over a network is.
 */
import { PAGE_BYTES } from '../../core/basics/types.js';
import { isRegularFile } from '../../linux/files/file-io.js';
import { isWordFile } from '../../linux/memory/shared-word.js';
import { NUMBERS_PER_CLIENT } from '../protocol/attaching.js';
import { descriptorIn, withDescriptor } from '../protocol/descriptors.js';
import type { FromManager, RequestName, ToManager } from '../protocol/messages.js';
import { RequestError, toWire, type WireError } from '../protocol/wire.js';
import type { Grant } from './grants.js';
import type { Gate } from './line-connection.js';
import { NONE_LEFT } from './sent-descriptors.js';
import { isRecord, isWhole, type SpaceLayout, shapesOf } from './shapes.js';

/** What changes nothing that others see. */
const READING: ReadonlySet<string> = new Set<RequestName>([
  'arrays',
  'attachArray',
  'attributes',
  'check',
  'devices',
  'dirty',
  'heard',
  'leave',
  'mayWrite',
  'pointer',
  'readBytes',
  'residency',
  'stats',
  'taken',
  'unviewed',
  'unwatch',
  'usable',
  'viewed',
  'watch',
]);

/** What makes arrays. */
const MAKING: ReadonlySet<string> = new Set<RequestName>(['allocate', 'clone']);

/** Members that are numbers of the client's own. */
const OWN_NUMBERS = ['stream', 'pin', 'subscription'] as const;

const ASK_THE_OWNER = 'do it in the process that opened the space';

/** What a process that attached cannot do, and why. */
const ONLY_OWNER = {
  provider: `a process that attached makes no provided arrays: a provider fills pages in a thread of the owner; ${ASK_THE_OWNER}, and find the array here by its name`,
  module: `a process that attached has no module called before pages change: it would run in a thread of the owner; call watch() with onInvalidate or readRetry(), or ${ASK_THE_OWNER}`,
  mapped:
    'a process that attached maps no files into a space: its threads would see them, and others not; leave out mapped, or open a space of your own here and map the file there, which shares the page cache of the kernel',
  guard: `a process that attached has no module asked for rights: it would run in a thread of the owner; ${ASK_THE_OWNER}`,
  share: `a process that attached makes no arrays that machines share: the owner speaks with the server; ${ASK_THE_OWNER}, and find the array here by its name`,
  bindThread: `a process that attached does not bind its threads: they do not share a CPU with the owner's manager; ${ASK_THE_OWNER}, or use taskset`,
  follow: `a process that attached follows no moves: they would tell it of all arrays; ${ASK_THE_OWNER}, or look from outside by onemem top and onemem serve`,
  record: `a process that attached records no moves: the owner writes the file; ${ASK_THE_OWNER}`,
} as const;

export class ProcessGate implements Gate {
  private readonly shapes: ReturnType<typeof shapesOf>;
  /** Numbers of its streams and pins lie between these. */
  private readonly first: number;

  constructor(
    private readonly grant: Grant,
    private readonly layout: SpaceLayout,
    client: number,
  ) {
    this.shapes = shapesOf(layout, grant.ranges, client);
    this.first = client * NUMBERS_PER_CLIENT;
  }

  pass(message: unknown, fd: number | null): ToManager {
    const passed = this.check(message);
    if ((descriptorIn(passed) !== null) !== (fd !== null))
      throw malformed('it has a descriptor and names none, or names one and has none');
    if (fd === null) return passed;
    if (passed.id === 0) throw malformed('nobody waits for its answer');
    return acceptDescriptor(passed, fd);
  }

  private check(message: unknown): ToManager {
    if (!isRecord(message)) throw malformed('it is no object');
    const { id, name, value } = message;
    if (!isWhole(id) || typeof name !== 'string') throw malformed('it is no request');
    if (!Object.hasOwn(this.shapes, name)) throw onlyOwner(name);
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
    if (name === 'allocate' && has(value, 'provider')) throw onlyOwner('provider');
    if (name === 'allocate' && isRecord(value) && isMapped(value.file)) throw onlyOwner('mapped');
    if (name === 'watch' && has(value, 'source')) throw onlyOwner('module');
    if (isRecord(value)) this.checkRange(name, value);
    if (!this.shapes[name](value)) throw malformed(`${name} has other values than it may have`);
    if (isRecord(value)) this.checkNumbers(value);
    return { id, name, value } as ToManager;
  }

  refuse(message: unknown, error: unknown): FromManager | null {
    if (!isRecord(message)) return null;
    const { id, name, value } = message;
    if (name === 'enqueue' && isRecord(value)) return refusedOperation(value, toWire(error));
    return isWhole(id) && id > 0 ? { id, value: null, error: toWire(error) } : null;
  }

  /** The shapes check ranges that stand deeper in a request. */
  private checkRange(name: string, { range, offset }: Record<string, unknown>): void {
    const { ranges } = this.grant;
    if (ranges === null) return;
    const at =
      name === 'pointer' && isWhole(offset)
        ? this.layout.rangeAt(Math.floor(offset / PAGE_BYTES))
        : range;
    if (at !== undefined && !ranges.has(at as number))
      throw new RequestError(
        'ACCESS_DENIED',
        'the handle by which this process attached does not allow this array',
      );
  }

  private checkNumbers(value: Record<string, unknown>): void {
    const { memory, id } = value;
    if (memory !== undefined && !this.isOwn(id))
      throw malformed(`notifier ${id} is another client's`);
    for (const name of OWN_NUMBERS) {
      const number = value[name];
      if (number !== undefined && !this.isOwn(number))
        throw malformed(`${name} ${number} is another client's`);
    }
  }

  private isOwn(number: unknown): boolean {
    const end = this.first + NUMBERS_PER_CLIENT;
    return isWhole(number) && number > this.first && number < end;
  }
}

/** An operation of a stream has no answer: its end is told. */
function refusedOperation(
  { stream, sequence }: Record<string, unknown>,
  error: WireError,
): FromManager | null {
  if (!isWhole(stream) || !isWhole(sequence)) return null;
  const figures = { startedMs: 0, endedMs: 0, bytes: 0, pages: 0 };
  return { event: { stream, sequence, result: 'failed', error, ...figures } };
}

function has(value: unknown, member: string): boolean {
  return isRecord(value) && (value[member] ?? null) !== null;
}

function isMapped(file: unknown): boolean {
  return isRecord(file) && file.mapped === true;
}

/** The request with a descriptor that is what the request says. */
function acceptDescriptor(message: ToManager, fd: number): ToManager {
  if (fd === NONE_LEFT)
    throw new RequestError(
      'DESCRIPTORS',
      'the process that opened the space has no descriptor left; raise ulimit -n there',
    );
  const isRight =
    message.name === 'watch'
      ? isWordFile(fd)
      : message.name === 'allocate' && isRegularFile(fd, message.value.file?.shared === true);
  if (!isRight) throw malformed('its descriptor is not what it says');
  return withDescriptor(message, fd);
}

/** Why a process that attached cannot do something, and what to do. */
function onlyOwner(request: string): RequestError {
  const why = Object.hasOwn(ONLY_OWNER, request)
    ? ONLY_OWNER[request as keyof typeof ONLY_OWNER]
    : `${request}: a process that attached cannot do this; do it in the process that opened the space`;
  return new RequestError('OTHER_PROCESS', why);
}

function malformed(why: string): RequestError {
  return new RequestError('MESSAGE', `a request was not understood: ${why}`, {}, 'TypeError');
}
