/**
 * Arrays that another machine has, too: a space of the same process, with a manager, a member and a
 * connection of its own, which writes and reads them.
 */
import { openSpace, type SharedArray } from '../../src/index.js';
import { ELEMENT_TYPES } from './kernels.js';
import type { Player } from './player.js';
import { CONSTRUCTORS, type PlainType, plainArray, Tracked } from './tracked.js';

/** Longer than a busy machine lets a thread wait. */
const LONG_MS = 60_000;

export async function allocateOfSeveral(player: Player): Promise<void> {
  const { random, server } = player;
  if (server === null) return;
  const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as PlainType;
  const plain = plainArray(
    type,
    random.between(1, 1_000_000 / CONSTRUCTORS[type].BYTES_PER_ELEMENT),
  );
  const name = player.nextName();
  const blockBytes = random.pick([4096, 65_536, '2MiB']);
  // Programs have one server together.
  const on = { url: server, leaseMs: LONG_MS, timeoutMs: LONG_MS };
  const options = {
    name: `${process.pid}-${player.name.replaceAll(' ', '-')}-${name}`,
    on,
    blockBytes,
  };
  player.log(
    `${name} = await space.sharedArray(${type}, ${plain.length}, ${JSON.stringify(options)}), here and elsewhere`,
  );
  player.other ??= await openSpace({ hostMemory: '64MiB' });
  const kind = CONSTRUCTORS[type] as typeof Float32Array;
  const array = await player.space.sharedArray(kind, plain.length, options);
  const other = await player.other.sharedArray(kind, plain.length, options);
  const tracked = new Tracked(name, array, plain, 'several', true);
  tracked.other = other as unknown as SharedArray;
  player.track(tracked);
}

/** One that another machine may use: what is lost here, it would have as it was earlier. */
function pickOfSeveral(player: Player): Tracked | null {
  return player.pickArray(
    ({ kind, gone }) => kind === 'several' && gone.every((each) => each === null),
  );
}

export async function writeElsewhere(player: Player): Promise<void> {
  const tracked = pickOfSeveral(player);
  if (tracked?.other == null) return;
  const { begin, end } = player.part(tracked.length);
  const item = player.item(tracked, player.random.below(100)) as never;
  player.log(`elsewhere ${tracked.name}.data.fill(${item}, ${begin}, ${end})`);
  tracked.other.data.fill(item, begin, end);
  tracked.plain.fill(item, begin, end);
  tracked.cameHome({ begin, end });
}

export async function readElsewhere(player: Player): Promise<void> {
  const tracked = pickOfSeveral(player);
  if (tracked !== null) compareElsewhere(player, tracked);
}

export function compareElsewhere(player: Player, tracked: Tracked): void {
  if (tracked.other === null || tracked.gone.some((each) => each !== null)) return;
  player.log(`elsewhere ${tracked.name}.data is read`);
  tracked.compare(tracked.other.data, tracked.whole, 'elsewhere');
}

/** What holds pages, and does not ask other machines for them, is refused. */
export async function refuseOfSeveral(player: Player): Promise<void> {
  const tracked = pickOfSeveral(player);
  if (tracked === null) return;
  const array = tracked.array as SharedArray;
  const calls: readonly [string, () => unknown][] = [
    ['clone', () => array.clone()],
    ['pin', () => array.pin()],
    ['protect', () => array.protect('read')],
    ['discard', () => array.discard()],
    ['hold', () => array.hold()],
    ['advise', () => array.advise({ readMostly: true })],
  ];
  const [what, call] = player.random.pick(calls);
  player.log(`${tracked.name}.${what}(), which other machines share`);
  await player.judge(
    Promise.resolve().then(call),
    ['SHARED_ARRAY'],
    [],
    `${what}() of ${tracked.name}`,
  );
}

export async function fence(player: Player): Promise<void> {
  const tracked = pickOfSeveral(player);
  if (tracked === null) return;
  player.log(`await ${tracked.name}.fence()`);
  await (tracked.array as SharedArray).fence();
}
