/**
 * What streams do, in one go: launches, copies, prefetches and callbacks on one or two streams,
 * which wait for each other where they use the same array. When all of it has ended, it is done
 * again on the plain arrays, in the order in which it was given.
 */
import assert from 'node:assert/strict';
import type {
  CopyOptions,
  NumericArray,
  OnememError,
  Stream,
  StreamEvent,
} from '../../src/index.js';
import { KERNELS, runHere } from './kernels.js';
import { giveLoose, Loose } from './loose.js';
import type { Player, TrackedDevice } from './player.js';
import { giveDiscard, giveFree, isRefusedAtOnce } from './stream-pages.js';
import { bytesOf, CURABLE, type Part, plainArray, type Tracked } from './tracked.js';

const MOST_OPERATIONS = 6;

export interface Lane {
  readonly device: TrackedDevice;
  readonly stream: Stream;
  /** Which life of the device it was given to. */
  readonly life: number;
  failed: boolean;
}

/** Whether its device has not died since. */
function lives({ device, life }: Lane): boolean {
  return device.alive && device.life === life;
}

interface Given {
  readonly text: string;
  readonly lane: Lane;
  readonly event: StreamEvent;
  /** Whether a signal may have taken it back. */
  readonly mayBeCancelled?: boolean;
  /**
   * Codes of which one must come, and others that may; asked when everything before has been done
   * on the plain arrays.
   */
  readonly must: () => Iterable<string>;
  readonly may: () => Iterable<string>;
  /**
   * @param calm whether nothing that was given with it failed, and nothing was given after it that
   * uses its arrays
   */
  readonly done: (calm: boolean) => void;
  readonly failed: (error: OnememError) => Promise<void> | void;
}

export type Operation = Omit<Given, 'lane'>;

export async function playStreams(player: Player): Promise<void> {
  const { random } = player;
  const lanes: Lane[] = [];
  for (let index = random.between(1, 2); index > 0; index--) {
    const device = player.pickDevice();
    if (device !== null)
      lanes.push({ device, stream: device.device.stream(), life: device.life, failed: false });
  }
  if (lanes.length === 0) return;
  const given: Given[] = [];
  const last = new Map<Tracked | Loose, Given>();
  const tracked = (): Tracked[] =>
    [...last.keys()].filter((each): each is Tracked => !(each instanceof Loose));
  const loose = new Loose(player);
  const give: Give = (lane, used, start) => {
    for (const array of used) {
      const other = last.get(array);
      if (other === undefined || other.lane === lane) continue;
      const waits = nothing('wait for the other stream', lane.stream.wait(other.event));
      const must = (): string[] => (other.event.result === 'done' ? [] : ['CANCELLED']);
      given.push({ ...waits, must, lane });
    }
    const made: Given = { ...start(), lane };
    player.log(`${lane.device.name}, stream ${lanes.indexOf(lane)}: ${made.text}`);
    given.push(made);
    for (const array of used) last.set(array, made);
  };
  const count = random.between(1, MOST_OPERATIONS);
  for (let index = 0; index < count; index++) {
    const lane = random.pick(lanes);
    const kind = random.below(28);
    if (kind < 11) giveLaunch(player, lane, give);
    else if (kind < 15) giveCopy(player, lane, give);
    else if (kind < 17) givePrefetch(player, lane, give);
    else if (kind < 18) giveExclusive(player, lane, give);
    else if (kind < 19) giveCall(player, lane, tracked(), give);
    else if (kind < 24) giveLoose(player, lane, loose, give);
    else if (kind < 27) givePages(player, lane, give);
    else give(lane, [], () => nothing('record()', lane.stream.record()));
  }
  const early = random.chance(0.7);
  if (early) for (const { stream } of lanes) stream[Symbol.dispose]();
  if (given.length === 0) return;
  const work = settle(player, given, new Set(last.values()))
    .then(() => loose.check())
    .finally(() => {
      if (!early)
        for (const { stream } of lanes) if (!player.space.isClosed) stream[Symbol.dispose]();
    });
  player.occupy(tracked(), work);
  if (random.chance(0.4)) await work;
}

export type Give = (lane: Lane, used: readonly (Tracked | Loose)[], start: () => Operation) => void;

function nothing(text: string, event: StreamEvent): Operation {
  return {
    text,
    event,
    must: () => [],
    may: () => [],
    done: () => undefined,
    failed: () => undefined,
  };
}

/** @param last those after which nothing was given that uses one of their arrays */
async function settle(
  player: Player,
  given: readonly Given[],
  last: ReadonlySet<Given>,
): Promise<void> {
  await Promise.all(given.map(({ event }) => event.synchronize().catch(() => undefined)));
  const good = given.every(({ event }) => event.result === 'done');
  for (const each of given) {
    const { text, lane, event } = each;
    const what = `${text} on ${lane.device.name}`;
    if (event.result === 'cancelled') {
      assert.ok(
        lane.failed || each.mayBeCancelled === true,
        `${what} was cancelled: ${event.error}`,
      );
      lane.failed = true;
      continue;
    }
    const allowed = [...each.may(), ...(lives(lane) ? [] : ['DEVICE_LOST', 'DEVICE_DETACHED'])];
    if (lane.failed && lives(lane))
      assert.fail(`${what} was ${event.result}, though what it came after failed`);
    const error = event.error ?? new Error('it failed without an error');
    const outcome = event.result === 'done' ? Promise.resolve() : Promise.reject(error);
    if (await player.judge(outcome, each.must(), allowed, what)) each.done(good && last.has(each));
    else {
      lane.failed = true;
      await each.failed(error as OnememError);
    }
  }
}

function isFree(tracked: Tracked): boolean {
  return tracked.busy === null;
}

/** An array for a part in a program of streams: one that nothing outside of the program uses. */
function pick(player: Player, wanted: (tracked: Tracked) => boolean): Tracked | null {
  return player.pickArray((each) => isFree(each) && wanted(each));
}

function givePages(player: Player, lane: Lane, give: Give): void {
  const array = pick(player, ({ kind }) => kind !== 'several');
  if (array === null) return;
  if (player.random.chance(0.7)) giveDiscard(player, lane, array, give);
  else giveFree(player, lane, array, give);
}

function giveLaunch(player: Player, lane: Lane, give: Give): void {
  const { random } = player;
  const { device } = lane;
  const y = pick(player, () => true);
  if (y === null) return;
  const { type } = y.array;
  const { begin, end } = player.part(y.length);
  const whole = begin === 0 && end === y.length;
  const by = player.item(y, random.below(20));
  const x = random.chance(0.5)
    ? pick(player, (each) => each !== y && each.array.type === type && each.length >= end)
    : null;
  const name =
    x !== null
      ? 'accumulate'
      : random.pick(['add', 'addFromModule', 'addByTypegpu', 'fill', 'addAt'] as const);
  // By its address one element is changed, wherever it is.
  const byAddress = name === 'addAt' && type !== 'u8c' && begin < end;
  const part: Part = byAddress ? { begin, end: begin + 1 } : { begin, end };
  const range = byAddress ? { size: 1 } : { size: y.length, begin, end };
  const kernel = KERNELS[type][name === 'addAt' && !byAddress ? 'add' : name];
  const { text: ending, ...limit } = endingOf(player, device);
  const emptied = name === 'fill' && whole;
  const simulated = device.specification.kind === 'simulated';
  const text = `launch ${name} for ${x === null ? '' : `${x.name} and `}${y.name}, ${begin} to ${end}${ending}`;
  const used = x === null ? [y] : [x, y];
  give(lane, used, () => {
    y.wrote = true;
    y.usedBy |= device.bit;
    y.holdOnly(y.whole, device.bit);
    x?.readBy(x.whole, device.bit);
    const address = byAddress ? { address: y.array.addressOf(begin) } : {};
    const args = x === null ? { x: y.array, by, ...address } : { x: x.array, y: y.array };
    const compute = (target: NumericArray, source: NumericArray | null): NumericArray => {
      if (emptied) target.fill(player.item(y, 0) as never);
      const code = byAddress ? KERNELS[type].add : kernel;
      runHere(code, source === null ? { x: target, by } : { x: source, y: target }, {
        ...part,
        size: y.length,
      });
      return target;
    };
    return {
      text,
      event: lane.stream.launch(kernel, args as never, { ...range, ...limit }),
      mayBeCancelled: limit.signal !== undefined,
      must: () => {
        // Without work items no array is used.
        if (begin === end) return [];
        const codes = y.refusals(emptied ? y.whole : part, 'write');
        if (emptied) for (const code of CURABLE) codes.delete(code);
        // In place a device writes host memory, where pinned pages are.
        if (y.advisedInPlace) codes.delete('PINNED');
        for (const code of x?.refusals(part, 'read') ?? []) codes.add(code);
        return codes;
      },
      may: () => [
        // Neighbours of what a kernel touches, and all of an array where there are no page faults.
        ...y.refusals(y.whole, 'write'),
        ...(x?.refusals(x.whole, 'read') ?? []),
        ...player.lossOf(y, y.whole),
        ...(x === null ? [] : player.lossOf(x, x.whole)),
        ...(simulated ? ['DEVICE_MEMORY'] : []),
        ...(limit.signal === undefined ? [] : ['ABORTED']),
        ...(limit.timeoutMs === undefined ? [] : ['TIMEOUT']),
      ],
      done: (calm) => {
        if (emptied) y.healed(0, y.pages);
        compute(y.plain, x?.plain ?? null);
        // A launch after it may have been ended in the middle, and a copy after it be of what is
        // indeterminate.
        if (emptied && calm)
          assert.equal(y.array.indeterminate, false, `${y.name} is indeterminate after ${text}`);
      },
      failed: async (error) => {
        const begun =
          ['DEVICE_LOST', 'DEVICE_DETACHED', 'ABORTED', 'TIMEOUT'].includes(error.code) &&
          error.ranges.length > 0;
        if (begun)
          assert.ok(y.array.indeterminate, `${y.name} should be indeterminate after ${text}`);
        const candidates = [compute(y.plain.slice() as NumericArray, x?.plain ?? null)];
        if (x !== null)
          candidates.push(compute(y.plain.slice() as NumericArray, plainArray(type, x.length)));
        if (emptied) candidates.push(plainArray(type, y.length));
        if (emptied) player.refreshGone(y, y.whole);
        await player.adopt(
          y,
          emptied ? y.whole : part,
          candidates,
          `${text}, which failed by ${error.code},`,
        );
      },
    };
  });
}

/**
 * At times a launch is to end before its time: by a signal, or where that can be by a limit of
 * time.
 */
function endingOf(
  { random }: Player,
  { device }: TrackedDevice,
): { text: string; signal?: AbortSignal; timeoutMs?: number } {
  if (!random.chance(0.12)) return { text: '' };
  const milliseconds = random.between(1, 20);
  if (device.capabilities.cancellation && random.chance(0.5))
    return { text: `, of at most ${milliseconds} ms`, timeoutMs: milliseconds };
  return { text: `, aborted after ${milliseconds} ms`, signal: AbortSignal.timeout(milliseconds) };
}

function giveCopy(player: Player, lane: Lane, give: Give): void {
  const { random } = player;
  const to = pick(player, () => true);
  if (to === null) return;
  const { type } = to.array;
  const from = pick(player, (each) => each.array.type === type);
  if (from === null) return;
  const outwards = random.chance(0.15);
  const inwards = !outwards && random.chance(0.2);
  const length = random.between(1, Math.min(to.length, from.length));
  const partAt = (of: Tracked): Part => {
    const begin = random.below(of.length - length + 1);
    return { begin, end: begin + length };
  };
  const target = partAt(to);
  const source = partAt(from);
  const place = random.chance(0.5) ? undefined : random.chance(0.4) ? 'host' : player.pickDevice();
  if (place === null) return;
  const at = place === undefined || place === 'host' ? null : place;
  const options: CopyOptions =
    place === undefined ? {} : { at: place === 'host' ? place : place.device };
  const where = place === undefined ? '' : `, at ${place === 'host' ? place : place.name}`;
  const dead = (): string[] => [
    ...(at !== null && !at.alive ? ['DEVICE_LOST', 'DEVICE_DETACHED'] : []),
    ...(at?.specification.kind === 'simulated' ? ['DEVICE_MEMORY'] : []),
  ];
  if (outwards) {
    const found = plainArray(type, length);
    give(lane, [from], () => ({
      text: `copy ${from.name} ${source.begin} to ${source.end} to a plain array${where}`,
      event: lane.stream.copy(found, from.array.range(source.begin, source.end), options),
      must: () => from.refusals(source, 'read'),
      may: () => [...player.lossOf(from, source), ...dead()],
      done: () => from.compare(found, source, 'a copy of'),
      failed: () => undefined,
    }));
    return;
  }
  const values = inwards ? player.randomize(plainArray(type, length)) : null;
  const origin =
    values === null ? `${from.name} ${source.begin} to ${source.end}` : 'a plain array';
  give(lane, values === null && from !== to ? [from, to] : [to], () => {
    to.wrote = true;
    const held = to.usedBy | from.usedBy | (at?.bit ?? 0);
    to.usedBy |= at?.bit ?? 0;
    to.holdOnly(target, held);
    if (values === null && at !== null) from.readBy(source, at.bit);
    const content = (): NumericArray =>
      values ?? (from.plain.slice(source.begin, source.end) as NumericArray);
    const put = (into: NumericArray): NumericArray => {
      const bytes = bytesOf(content());
      bytesOf(into.subarray(target.begin, target.end) as NumericArray).set(bytes);
      return into;
    };
    const [first, end] = to.wholePagesOf(target);
    const event = lane.stream.copy(
      to.array.range(target.begin, target.end),
      values ?? from.array.range(source.begin, source.end),
      options,
    );
    return {
      text: `copy ${origin} to ${to.name} ${target.begin} to ${target.end}${where}`,
      event,
      must: () => {
        const codes = player.refusalsOfOverwriting(to, target);
        if (values === null) for (const code of from.refusals(source, 'read')) codes.add(code);
        return codes;
      },
      may: () => [
        ...to.refusals(target, 'write'),
        ...player.lossOf(to, target),
        ...(values === null ? player.lossOf(from, source) : []),
        ...dead(),
      ],
      done: () => {
        assert.equal(event.bytes, length * to.plain.BYTES_PER_ELEMENT);
        put(to.plain);
        to.healed(first, end);
      },
      failed: async (error) => {
        const wanted = put(to.plain.slice() as NumericArray);
        player.refreshGone(to, target);
        await player.adopt(
          to,
          target,
          [wanted, plainArray(type, to.length)],
          `a copy that failed by ${error.code}`,
        );
      },
    };
  });
}

function givePrefetch(player: Player, lane: Lane, give: Give): void {
  const array = pick(player, () => true);
  const device = player.random.chance(0.4) ? null : player.pickDevice();
  if (array === null) return;
  const part = player.part(array.length);
  if (isRefusedAtOnce(array, part)) return;
  const around = device === null ? part : array.around(part, device.granulePages);
  give(lane, [array], () => {
    if (device !== null) array.readBy(around, device.bit);
    const event = lane.stream.prefetch(
      array.array.range(part.begin, part.end),
      device?.device ?? 'host',
    );
    return {
      ...nothing(
        `prefetch ${array.name} ${part.begin} to ${part.end} to ${device?.name ?? 'host'}`,
        event,
      ),
      must: () => array.refusals(part, 'read'),
      may: () => [
        ...array.refusals(around, 'read'),
        ...player.lossOf(array, around),
        ...(device === null || device.alive ? [] : ['DEVICE_LOST', 'DEVICE_DETACHED']),
      ],
    };
  });
}

function giveExclusive(player: Player, lane: Lane, give: Give): void {
  const array = pick(player, ({ advisedInPlace, kind }) => !advisedInPlace && kind !== 'several');
  if (array === null) return;
  const part = player.part(array.length);
  if (isRefusedAtOnce(array, part)) return;
  const { device } = lane;
  const around = array.around(part, device.granulePages);
  give(lane, [array], () => {
    array.usedBy |= device.bit;
    array.holdOnly(around, device.bit);
    array.wrote = true;
    const event = lane.stream.exclusive(array.array.range(part.begin, part.end));
    return {
      ...nothing(`exclusive ${array.name} ${part.begin} to ${part.end}`, event),
      must: () => array.refusals(part, 'write'),
      may: () => [...array.refusals(around, 'write'), ...player.lossOf(array, around)],
    };
  });
}

/** A function of the program's in the order of the stream: the CPU writes an array in it. */
function giveCall(player: Player, lane: Lane, before: readonly Tracked[], give: Give): void {
  // A device that dies must not take along what the CPU is about to touch.
  const array = pick(
    player,
    (each) =>
      !before.includes(each) &&
      each.allows(each.whole, 'write') &&
      each.onlyOn.every((bits) => bits === 0),
  );
  if (array === null) return;
  const { begin, end } = player.part(array.length);
  const item = player.item(array, player.random.below(100)) as never;
  give(lane, [array], () => {
    array.wrote = true;
    const event = lane.stream.call(() => {
      array.array.data.fill(item, begin, end);
    });
    return {
      ...nothing(`call a function that fills ${array.name} ${begin} to ${end} with ${item}`, event),
      done: () => array.plain.fill(item, begin, end),
    };
  });
}
