/**
 * A thread that speaks with a server, or those of a cluster, so that the manager need not wait for
 * one. Jobs come through a ring in shared memory as those for files do; several are under way at
 * once, and are answered in their order.
 */
import { constants as os } from 'node:os';
import { workerData } from 'node:worker_threads';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import { gone, spoiled } from '../../drivers/storage/disk.js';
import { firstSpoiled, noteSums } from '../../linux/files/spill-file.js';
import { offsetInView, VIEW_BYTES, viewAt } from '../../linux/memory/memory-views.js';
import { receiverOf } from '../../linux/sockets/receiving.js';
import { senderOf } from '../../linux/sockets/sending.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import type { Argument, Caller, ValkeyConnection } from '../../valkey/connection.js';
import { ValkeyError } from '../../valkey/errors.js';
import { learnHosts } from '../../valkey/host-addresses.js';
import { numberOf } from '../../valkey/remedies.js';
import { ValkeyServers } from '../../valkey/servers.js';
import { endStart } from '../protocol/starting.js';
import { ForgottenTags, tagOf } from './forgotten-tags.js';
import { JOB_WORDS, Job, Signal } from './io-ring.js';
import type { ServerThread } from './valkey-file.js';
import { type Value, ValueTable } from './value-table.js';

const { ring, server, prefix, writes, values, reachable, forgotten } = workerData as ServerThread;
/** Values whose time is put off, or that are given back, at once. */
const BATCH = 512;
/** Of the time that values have, the part after which it is put off. */
const RENEWAL = 0.25;
/** Markers outlive the values of their tags, whose time is put off as theirs is. */
const MARKER_MS = Math.ceil(server.leaseMs * 1.5);
/** How long the manager is not looked for. */
const LOOK_MS = 1000;
/** How long the thread stands still for an answer of which nothing more comes. */
const PATIENCE_MS = 4;
/** How long the end may take. */
const CLOSING_MS = 2000;

learnHosts(server.hosts);
const words = new Float64Array(ring.numbers);
const signal = new Int32Array(ring.signals);
const places = words.length / JOB_WORDS;
const table = new ValueTable(values);
const up = new Int32Array(reachable);
/** Tags with a marker: a value by which a restarted server shows that it kept all. */
const marked = new Set<number>();
const memory = new ForgottenTags(forgotten);
const servers = new ValkeyServers(
  { ...server, recognize, receiverOf: (fd) => receiverOf(fd, PATIENCE_MS), senderOf },
  (isUp) => {
    if (writes) Atomics.store(up, 0, isUp ? 1 : 0);
  },
);

interface Part {
  readonly value: Value;
  readonly key: string;
  /** Within the value. */
  readonly begin: number;
  readonly bytes: Uint8Array;
  /** Whether it is all of the value. */
  readonly whole: boolean;
  /** The first page of it, among those of the job. */
  readonly page: number;
}

function keyOf({ group, isBlock }: Value): string {
  return `${markerOf(tagOf(group))}:${group.toString(36)}${isBlock ? ':block' : ''}`;
}

function markerOf(tag: number): string {
  return `onemem:{${prefix}.${tag}}`;
}

/** Has the manager know what a server has forgotten, before anything is written there again. */
async function recognize(connection: ValkeyConnection): Promise<void> {
  const tags = [...marked];
  const found = await all(
    tags.map((tag) => connection.call(['EXISTS', markerOf(tag)]).catch(elsewhere)),
  );
  const gone = tags.filter((_, at) => found[at] === 0);
  if (gone.length === 0) return;
  for (const tag of gone) marked.delete(tag);
  await memory.tell(gone, wake);
}

/** Another server of the cluster would know. */
function elsewhere(error: ValkeyError): number {
  if (error.word !== 'MOVED' && error.word !== 'ASK') throw error;
  return 1;
}

function wake(): void {
  try {
    notifyEventfd(ring.wakeFd);
  } catch {
    // The manager looks for itself now and then.
  }
}

/** Memory cut where values end, and where kept views of it do. */
function partsOf(address: number, length: number, offset: number): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < length; ) {
    const value = table.at(offset + at);
    const begin = offset + at - value.offset;
    const from = offsetInView(address + at);
    const size = Math.min(value.bytes - begin, length - at, VIEW_BYTES - from);
    parts.push({
      value,
      key: keyOf(value),
      begin,
      bytes: viewAt(address + at).bytes.subarray(from, from + size),
      whole: size === value.bytes,
      page: at / PAGE_BYTES,
    });
    at += size;
  }
  return parts;
}

/** Waits for all, since memory must be free after the answer; then throws the first error. */
async function all<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  const ended = await Promise.allSettled(calls);
  return ended.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

async function write(address: number, length: number, offset: number): Promise<number> {
  // What is written as a whole, and lies so that it goes as a whole, is one value from now on.
  const isBlock =
    length === BLOCK_BYTES && offset % BLOCK_BYTES === 0 && offsetInView(address) === 0;
  const replaced = isBlock ? table.writeBlock(offset) : [];
  const parts = partsOf(address, length, offset);
  if (!isBlock) for (const { value } of parts) table.writePart(value.offset);
  await all<unknown>([
    ...replaced.map((value) => forget(keyOf(value))),
    ...parts.map((part) => servers.use(part.key, (at) => writePart(at, part))),
  ]);
  return length;
}

/** A value has a time from its first byte on, so that it goes if this process dies early. */
function writePart(at: Caller, { value, key, begin, bytes, whole }: Part): Promise<unknown> {
  const tag = tagOf(value.group);
  const marks = marked.has(tag) ? [] : [mark(at, tag)];
  if (whole) return all<unknown>([...marks, at.call(['SET', key, bytes, 'PX', server.leaseMs])]);
  return all<unknown>([
    ...marks,
    at.call(['SET', key, '', 'NX', 'PX', server.leaseMs]),
    at.call(['SETRANGE', key, begin, bytes]),
    at.call(['PEXPIRE', key, server.leaseMs]),
  ]);
}

/**
 * One by one, since a server whose slot is on its way to another one has not all of several. @param
 * still looked at whenever it is said again
 */
function forget(key: string, still: () => boolean = () => true): Promise<unknown> {
  return servers.use(key, async (at) => (still() ? at.call(['UNLINK', key]) : undefined));
}

async function mark(at: Caller, tag: number): Promise<void> {
  await at.call(['SET', markerOf(tag), '', 'PX', MARKER_MS]);
  marked.add(tag);
}

async function read(
  address: number,
  length: number,
  offset: number,
  sums: number,
): Promise<number> {
  const parts = partsOf(address, length, offset);
  const results = await all(parts.map((part) => servers.use(part.key, (at) => readPart(at, part))));
  const wrong = results.find((result) => result < 0);
  if (wrong !== undefined) return wrong;
  const bad = firstSpoiled(address, length, offset, sums);
  return bad === -1 ? length : spoiled(bad);
}

/** Returns 0, or what is wrong with a page of the part. */
async function readPart(at: Caller, { key, begin, bytes, whole, page }: Part): Promise<number> {
  const command = whole ? ['GET', key] : ['GETRANGE', key, begin, begin + bytes.length - 1];
  try {
    const reply = await at.call(command, [bytes]);
    const came = reply instanceof Uint8Array ? reply.length : 0;
    return came === bytes.length ? 0 : gone(page + Math.floor(came / PAGE_BYTES));
  } catch (error) {
    // What has our name and is something else is another program's doing.
    const { code, word } = error as ValkeyError;
    if (code === 'TOO_LARGE' || word === 'WRONGTYPE') return spoiled(page);
    throw error;
  }
}

/** Gives back values that nothing is left in: that is looked at again whenever it is said again. */
async function punch(offset: number, length: number): Promise<number> {
  const unused = table.unused(offset, length);
  await all(unused.map((value) => forget(keyOf(value), () => !table.isUsed(value))));
  return 0;
}

async function carryOut(at: number): Promise<number> {
  const address = words[at + Job.Address];
  const length = words[at + Job.Length];
  const offset = words[at + Job.Offset];
  const sums = words[at + Job.Sums];
  try {
    switch (words[at + Job.Kind]) {
      case Job.WriteSummed:
        noteSums(address, length, offset, sums);
        return await write(address, length, offset);
      case Job.ReadSummed:
        return await read(address, length, offset, sums);
      default:
        return await punch(offset, length);
    }
  } catch (error) {
    return -errnoOf(error);
  }
}

/** What is wrong with a server, as numbers that are known. */
function errnoOf(error: unknown): number {
  return error instanceof ValkeyError ? numberOf(error) : os.errno.EIO;
}

/** Says something of all values that are used, of some at once. */
async function eachUsed(command: string, ...rest: Argument[]): Promise<void> {
  const keys: string[] = [];
  const say = async (): Promise<void> => {
    await all(
      keys.splice(0).map((key) => servers.use(key, (at) => at.call([command, key, ...rest]))),
    );
  };
  for (const value of table.used()) if (keys.push(keyOf(value)) === BATCH) await say();
  await say();
}

async function eachMarker(command: string, ...rest: Argument[]): Promise<void> {
  const keys = [...marked].map(markerOf);
  await all(keys.map((key) => servers.use(key, (at) => at.call([command, key, ...rest]))));
}

/** Has the servers keep for longer what is needed. */
async function renew(): Promise<void> {
  try {
    await eachUsed('PEXPIRE', server.leaseMs);
    await eachMarker('PEXPIRE', MARKER_MS);
  } catch {
    // Next time, if they can be reached by then.
  }
}

/** Answers in the order of the ring. */
let last: Promise<void> = Promise.resolve();

function begin(next: number): void {
  const at = (next % places) * JOB_WORDS;
  const before = last;
  const result = carryOut(at);
  last = result.then(async (value) => {
    await before;
    words[at + Job.Result] = value;
    Atomics.store(signal, Signal.Done, (next + 1) | 0);
    wake();
  });
}

async function end(): Promise<never> {
  setTimeout(() => process.exit(0), CLOSING_MS);
  try {
    if (writes && Atomics.load(up, 0) === 1) {
      await eachUsed('UNLINK');
      await eachMarker('UNLINK');
    }
  } catch {
    // It goes when its time is over.
  }
  servers.close();
  process.exit(0);
}

async function serve(): Promise<never> {
  for (let next = ring.first; ; next = (next + 1) | 0) {
    while (Atomics.load(signal, Signal.HandedIn) === next) {
      if (Atomics.load(signal, Signal.Stop) === 1) await end();
      await Atomics.waitAsync(signal, Signal.HandedIn, next, LOOK_MS).value;
    }
    begin(next);
  }
}

if (writes) setInterval(() => void renew(), server.leaseMs * RENEWAL);
Atomics.store(signal, Signal.Up, 1);
endStart(ring.start);
void serve();
