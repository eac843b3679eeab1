/** What the CPU does by plain loads and stores. */
import assert from 'node:assert/strict';
import { addressView, type NumericArray, type WordType } from '../../src/index.js';
import type { Player } from './player.js';
import { bytesOf, type Part, plainArray, type Tracked } from './tracked.js';

export async function write(player: Player): Promise<void> {
  const tracked = player.pickArray(({ writable }) => writable);
  if (tracked === null) return;
  const part = player.part(tracked.length);
  if (tracked.allows(part, 'write')) writePart(player, tracked, part);
}

/** The CPU writes; the same goes into the plain array. */
function writePart(player: Player, tracked: Tracked, part: Part): void {
  const { random } = player;
  const { begin, end } = part;
  const { plain, array } = tracked;
  const item = player.item(tracked, random.below(100)) as never;
  const how = random.pick(['fill', 'stores', 'set', 'copyWithin'] as const);
  player.log(`${tracked.name}.data: ${how} ${begin} to ${end}, ${item}`);
  tracked.wrote = true;
  const { data } = array;
  if (how === 'fill') {
    data.fill(item, begin, end);
    plain.fill(item, begin, end);
  } else if (how === 'stores') {
    const step = random.between(1, 5000);
    for (let i = begin; i < end; i += step) {
      data[i] = item;
      plain[i] = item;
      tracked.cameHome({ begin: i, end: i + 1 });
    }
    return;
  } else if (how === 'set') {
    const values = player.randomize(plain.slice(begin, end) as NumericArray);
    (data as Float64Array).set(values as Float64Array, begin);
    (plain as Float64Array).set(values as Float64Array, begin);
  } else {
    const length = Math.floor((end - begin) / 2);
    if (length === 0) return;
    (data as Float64Array).copyWithin(begin, end - length, end);
    (plain as Float64Array).copyWithin(begin, end - length, end);
    tracked.cameHome({ begin, end: begin + length });
    return;
  }
  tracked.cameHome(part);
}

export async function read(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  if (tracked === null) return;
  const part = player.part(tracked.length);
  const allowed = tracked.allows(part, 'read');
  if (!allowed || player.random.chance(0.2)) {
    await copyOut(player, tracked, part);
    return;
  }
  player.log(`read ${tracked.name} ${part.begin} to ${part.end}`);
  tracked.verify(part);
}

/** By toBuffer(), which fails by a code where pages cannot be had. */
async function copyOut(player: Player, tracked: Tracked, part: Part): Promise<void> {
  player.log(`toBuffer() of ${tracked.name} ${part.begin} to ${part.end}`);
  const must = tracked.refusals(part, 'read');
  const found = plainArray(tracked.array.type, part.end - part.begin);
  const copy = async (): Promise<unknown> => bytesOf(found).set(tracked.array.toBuffer(part));
  const lost = (): string[] => player.lossOf(tracked, part);
  if (await player.judge(copy(), must, lost, `toBuffer() of ${tracked.name}`))
    tracked.compare(found, part, 'toBuffer() of');
}

/** Loads and stores by address, over two arrays at once. */
export async function byAddress(player: Player): Promise<void> {
  const known = ({ array, isFreed }: Tracked): boolean =>
    array.type !== 'u8c' && array.type !== 'bytes' && !isFreed;
  const first = player.pickArray(known);
  const second = player.pickArray((each) => each !== first && known(each));
  if (first === null) return;
  const arrays = second === null ? [first] : [first, second];
  player.log(`words by address of ${arrays.map(({ name }) => name).join(' and ')}`);
  const memory = addressView(...arrays.map(({ array }) => array));
  for (const tracked of [...arrays, ...arrays]) {
    const { array, plain } = tracked;
    const type = array.type as WordType;
    const index = player.random.below(tracked.length);
    const part = { begin: index, end: index + 1 };
    const address = array.addressOf(index);
    assert.equal(array.indexAt(address), index);
    if (tracked.allows(part, 'read'))
      assert.equal(
        memory.load(type, address),
        plain[index],
        `element ${index} of ${tracked.name}, by address`,
      );
    if (!tracked.allows(part, 'write')) continue;
    const item = player.item(tracked, player.random.below(100));
    memory.store(type, address, item as never);
    plain[index] = item as never;
    tracked.wrote = true;
    tracked.cameHome(part);
  }
}

/** Reads what can be read of an array, page by page. */
export function verifyAll(player: Player, tracked: Tracked): void {
  player.log(`read what can be read of ${tracked.name}`);
  for (let first = 0; first < tracked.pages; ) {
    let end = first + 1;
    const readable = tracked.allows(tracked.elementsOf(first, end), 'read');
    while (
      end < tracked.pages &&
      tracked.allows(tracked.elementsOf(end, end + 1), 'read') === readable
    )
      end++;
    if (readable) tracked.verify(tracked.elementsOf(first, end));
    first = end;
  }
}
