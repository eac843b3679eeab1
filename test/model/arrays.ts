/** Arrays come and go: made, over files, by providers, cloned, resized, freed. */
import assert from 'node:assert/strict';
import type { ManagedArray, NumericArray } from '../../src/index.js';
import { ELEMENT_TYPES } from './kernels.js';
import { MAX_BYTES, Player } from './player.js';
import { fillPlain, type ProviderData } from './provider.js';
import { verifyAll } from './touches.js';
import {
  bytesOf,
  CONSTRUCTORS,
  isLost,
  PAGE_BYTES,
  type PlainType,
  plainArray,
  Tracked,
} from './tracked.js';

export async function allocate(player: Player): Promise<void> {
  const { random } = player;
  const type = random.pick(ELEMENT_TYPES);
  const elementBytes = plainArray(type, 1).BYTES_PER_ELEMENT;
  const bytes = random.chance(0.4) ? random.between(1, 30_000) : random.between(1, MAX_BYTES);
  const length = Math.ceil(bytes / elementBytes);
  const name = player.nextName();
  const options = random.chance(0.3)
    ? { name, maxLength: random.between(length, 2 * length) }
    : { name };
  player.log(`${name} = space.array(${type}, ${length}, ${JSON.stringify(options)})`);
  let array: ManagedArray | undefined;
  const make = async (): Promise<void> => {
    array =
      type === 'bytes'
        ? player.space.bytes(length, options)
        : player.space.array(CONSTRUCTORS[type] as typeof Float32Array, length, options);
  };
  // Of small storage not much is left when there are many.
  const may = player.disk === null ? [] : ['HOST_BUDGET'];
  await player.judge(make(), [], may, `array() for ${name}`);
  if (array !== undefined)
    player.track(new Tracked(name, array, plainArray(type, length), 'plain', true));
}

export async function allocateFromFile(player: Player): Promise<void> {
  const { random } = player;
  const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as PlainType;
  const plain = player.randomize(
    plainArray(type, random.between(1, 1_000_000 / CONSTRUCTORS[type].BYTES_PER_ELEMENT)),
  );
  const shared = random.chance(0.4);
  const writable = shared || random.chance(0.5);
  const before = random.pick([0, 0, PAGE_BYTES, 1 + random.below(9000)]);
  const mapped = !writable && before % plain.BYTES_PER_ELEMENT === 0 && random.chance(0.4);
  const after = random.pick([0, 0, 1 + random.below(9000)]);
  const content = new Uint8Array(before + plain.byteLength + after).fill(99);
  content.set(bytesOf(plain), before);
  const path = player.newFile(content);
  const name = player.nextName();
  const options = {
    name,
    byteOffset: before,
    length: plain.length,
    shared,
    ...(shared ? {} : { writable, mapped }),
  };
  player.log(
    `${name} = space.fileArray(${type}, a file of ${content.length} bytes, ${JSON.stringify(options)})`,
  );
  const array = player.space.fileArray(CONSTRUCTORS[type] as typeof Float32Array, path, options);
  const file = { path, byteOffset: before, content };
  const kind = shared ? 'shared' : mapped ? 'mapped' : 'file';
  player.track(new Tracked(name, array, plain, kind, writable, file));
}

export async function allocateProvided(player: Player): Promise<void> {
  const { random } = player;
  const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as PlainType;
  const plain = plainArray(type, random.between(1, 400_000));
  const pageElements = PAGE_BYTES / plain.BYTES_PER_ELEMENT;
  const pages = Math.ceil(plain.length / pageElements);
  const failsFrom = random.chance(0.3) ? random.below(pages) * pageElements : -1;
  const data: ProviderData = {
    factor: random.between(1, 50),
    failsFrom,
    failure: random.pick(['refuses', 'throws'] as const),
  };
  const writable = random.chance(0.5);
  const name = player.nextName();
  player.log(
    `${name} = await space.providedArray(${type}, ${plain.length}, { data: ${JSON.stringify(data)}, writable: ${writable} })`,
  );
  Player.threads++;
  const array = await player.space.providedArray(
    CONSTRUCTORS[type] as typeof Float32Array,
    plain.length,
    {
      module: new URL('./provider.js', import.meta.url),
      export: 'fill',
      data,
      writable,
      name,
    },
  );
  fillPlain(plain, 0, data.factor);
  const tracked = new Tracked(name, array, plain, 'provided', writable);
  if (failsFrom !== -1) tracked.gone.fill(data.failure, failsFrom / pageElements);
  player.track(tracked);
}

export async function clone(player: Player): Promise<void> {
  const source = player.pickOwn(() => true);
  if (source === null) return;
  player.noteLosses(source);
  const name = player.nextName();
  player.log(`${name} = await ${source.name}.clone()`);
  // What may not be read, or is lost, cannot be had by the clone either. What a provider does not
  // give is asked for later.
  const must = source.refusals(source.whole, 'read', (gone) => gone === 'freed' || isLost(gone));
  let array: ManagedArray | undefined;
  const call = source.array.clone({ name }).then((made) => {
    array = made;
  });
  await player.judge(call, must, [], `clone() of ${source.name}`);
  if (array === undefined) return;
  const clone = new Tracked(name, array, source.plain.slice() as NumericArray, 'clone', true);
  clone.source = source;
  clone.usedBy = source.usedBy;
  for (let page = 0; page < clone.pages; page++) {
    clone.gone[page] = source.gone[page];
    clone.onlyOn[page] = source.onlyOn[page];
  }
  source.clones.add(clone);
  player.track(clone);
}

export async function resize(player: Player): Promise<void> {
  const tracked = player.pickArray(({ gone }) => !gone.includes('freed'));
  if (tracked === null) return;
  const { random } = player;
  const { plain, array } = tracked;
  const limit = Math.floor(MAX_BYTES / plain.BYTES_PER_ELEMENT);
  const length = random.chance(0.5)
    ? random.between(1, plain.length)
    : random.between(1, Math.min(limit, 2 * plain.length));
  player.log(`await ${tracked.name}.resize(${length}), from ${plain.length}`);
  const must: string[] = [];
  if (['file', 'mapped', 'shared', 'provided', 'several'].includes(tracked.kind))
    must.push('NOT_RESIZABLE');
  else if (tracked.pins.some((pins) => pins > 0)) must.push('PINNED');
  // What lies behind the last element, in its page, is cleared, and the page has to be had for
  // that.
  const last = Math.floor(Math.min(length, plain.length) / tracked.pageElements);
  const may =
    last < tracked.pages ? tracked.refusals(tracked.elementsOf(last, last + 1), 'read') : [];
  const good = await player.judge(array.resize(length), must, may, `resize() of ${tracked.name}`);
  if (!good) {
    assert.equal(array.length, plain.length);
    return;
  }
  assert.equal(array.length, length);
  const longer = plainArray(array.type, length);
  (longer as Float64Array).set(plain.subarray(0, Math.min(length, plain.length)) as Float64Array);
  tracked.plain = longer;
  tracked.fitPages();
  // What moved was taken over page by page, whether the devices that have it live or not.
}

export async function free(player: Player): Promise<void> {
  const tracked = player.pickArray((each) => each.pins.every((pins) => pins === 0));
  if (tracked === null) return;
  if (player.random.chance(0.3)) verifyAll(player, tracked);
  // What was lost can be written to no file, of which a line would tell.
  if (tracked.kind === 'shared' && tracked.gone.includes('lost'))
    await tracked.array.reload({ discard: true });
  player.log(`${tracked.name}.free()`);
  release(player, tracked);
}

export async function freePart(player: Player): Promise<void> {
  // What is lost of a shared array is given up by a reload, which is about all of it.
  const tracked = player.pickOwn(
    ({ kind, pages, pins }) => kind !== 'shared' && pages > 4 && pins.every((each) => each === 0),
  );
  if (tracked === null || tracked.clones.size > 0) return;
  const part = player.part(tracked.length);
  const [first, end] = tracked.wholePagesOf(part);
  const taken = tracked.gone.slice(first, end);
  player.log(`${tracked.name}.free(${JSON.stringify(part)})`);
  const isEmpty = part.begin === part.end;
  const must: string[] = [];
  if (!isEmpty && first >= end) must.push('NO_WHOLE_PAGE');
  else if (isEmpty ? tracked.isFreed : taken.every((each) => each === 'freed'))
    must.push('USE_AFTER_FREE');
  const may = taken.includes('freed') ? ['USE_AFTER_FREE'] : [];
  if (tracked.kind === 'mapped') must.push('MAPPED_ARRAY');
  const work = async (): Promise<void> => {
    assert.deepEqual(tracked.array.free(part), isEmpty ? part : tracked.elementsOf(first, end));
  };
  if (await player.judge(work(), must, may, `free() of a part of ${tracked.name}`))
    tracked.gone.fill('freed', first, end);
}

export function release(player: Player, tracked: Tracked): void {
  player.arrays.splice(player.arrays.indexOf(tracked), 1);
  tracked.source?.clones.delete(tracked);
  // A clone takes over what it does not have yet; what was not the array's own, from where that had
  // it.
  for (const clone of tracked.clones) {
    clone.source = tracked.source;
    tracked.source?.clones.add(clone);
  }
  tracked.other?.free();
  if (player.random.chance(0.5)) tracked.array[Symbol.dispose]();
  else tracked.array.free();
  assert.ok(tracked.array.isFreed);
}
