/** Arrays over files, and what becomes of the files. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import type { NumericArray } from '../../src/index.js';
import { MAX_ARRAYS, type Player } from './player.js';
import { bytesOf, isLost, type Part, plainArray, Tracked } from './tracked.js';

export async function flush(player: Player): Promise<void> {
  const tracked = player.pickArray(({ kind }) => kind === 'shared');
  if (tracked === null) return;
  const part = player.part(tracked.length);
  player.log(`await ${tracked.name}.flush(${JSON.stringify(part)})`);
  const must = tracked.freedIn(part);
  const may = tracked.gone.includes('lost') ? ['FLUSH_FAILED', 'DATA_LOST'] : [];
  const durable = player.random.chance(0.2);
  const good = await player.judge(
    tracked.array.flush({ ...part, durable }),
    must,
    may,
    `flush() of ${tracked.name}`,
  );
  if (!good) return;
  checkFile(tracked, part);
  if (part.begin === 0 && part.end === tracked.length) tracked.wrote = false;
}

/** After a flush of the part the file has it, and what lies around the array is as it was. */
export function checkFile(tracked: Tracked, part: Part): void {
  const { file, plain } = tracked;
  if (file === null) return;
  const found = readFileSync(file.path);
  assert.equal(found.length, file.content.length, `the file of ${tracked.name} has another length`);
  const inFile = plainArray(tracked.array.type, plain.length);
  bytesOf(inFile).set(found.subarray(file.byteOffset, file.byteOffset + plain.byteLength));
  const [first, end] = tracked.pagesOf(part);
  for (let page = first; page < end; page++) {
    if (tracked.gone[page] !== null) continue;
    const { begin, end: last } = tracked.elementsOf(page, page + 1);
    tracked.compare(
      inFile.subarray(begin, last) as NumericArray,
      { begin, end: last },
      'the file of',
    );
  }
  const behind = file.byteOffset + plain.byteLength;
  assert.ok(
    found.subarray(0, file.byteOffset).equals(file.content.subarray(0, file.byteOffset)),
    'before the array',
  );
  assert.ok(found.subarray(behind).equals(file.content.subarray(behind)), 'behind the array');
}

export async function reload(player: Player): Promise<void> {
  const tracked = player.pickArray(
    ({ kind, pins, clones }) =>
      (kind === 'file' || kind === 'shared') &&
      pins.every((each) => each === 0) &&
      clones.size === 0,
  );
  if (tracked?.file == null) return;
  const { random } = player;
  const { path, byteOffset } = tracked.file;
  const { plain } = tracked;
  const discard = random.chance(0.6);
  const must = tracked.freedIn(tracked.whole);
  // What is left of such a file is shown then: test/integration/shared-files.ts.
  if (tracked.isCut && discard) return;
  if (tracked.isCut) must.push('FILE_CHANGED');
  if (!discard && tracked.gone.some(isLost)) must.push('DATA_LOST', 'UNFLUSHED_CHANGES');
  // Another program writes the file, if nothing of ours is to be lost by it.
  if (must.length === 0 && (discard || !tracked.wrote)) {
    const at = random.below(plain.length);
    const given = player.randomize(
      plain.slice(at, random.between(at + 1, plain.length)) as NumericArray,
    );
    const fd = openSync(path, 'r+');
    writeSync(fd, bytesOf(given), 0, given.byteLength, byteOffset + at * plain.BYTES_PER_ELEMENT);
    closeSync(fd);
  }
  player.log(`await ${tracked.name}.reload({ discard: ${discard} })`);
  const may = discard || !tracked.wrote ? [] : ['UNFLUSHED_CHANGES'];
  const good = await player.judge(
    tracked.array.reload({ discard }),
    must,
    may,
    `reload() of ${tracked.name}`,
  );
  if (!good) return;
  const found = readFileSync(path);
  bytesOf(plain).set(found.subarray(byteOffset, byteOffset + plain.byteLength));
  tracked.file.content.set(found);
  tracked.wrote = false;
  // What was lost was a change, too, and is forgotten with the others only if that was said.
  if (discard) tracked.healed(0, tracked.pages);
  tracked.cameHome(tracked.whole);
}

/**
 * The file of a private array becomes shorter: what of it is not in memory cannot be had by
 * anybody, until the file is as it was, which is what the same step does the next time.
 */
export async function cut(player: Player): Promise<void> {
  const tracked = player.pickArray(
    ({ kind, family }) => kind === 'file' && family.every(({ busy }) => busy === null),
  );
  if (tracked?.file == null) return;
  const { file, family, plain } = tracked;
  // Nothing of these is under way: what was lost by now is judged by what the file was until now.
  // It may have been cut before, too.
  for (const each of family) player.noteLosses(each);
  for (const each of family) each.checkLosses();
  for (const { perhapsEmptied } of family) perhapsEmptied.clear();
  tracked.isCut = !tracked.isCut;
  if (!tracked.isCut) {
    player.log(`the file of ${tracked.name} is as it was`);
    writeFileSync(file.path, file.content);
    for (const { gone } of family)
      for (let page = 0; page < gone.length; page++) if (gone[page] === 'cut') gone[page] = null;
    return;
  }
  const left = player.random.below(plain.byteLength);
  player.log(`the file of ${tracked.name} becomes shorter: it has ${left} bytes of the array`);
  truncateSync(file.path, file.byteOffset + left);
  const [first] = tracked.pagesOf({
    begin: Math.floor(left / plain.BYTES_PER_ELEMENT),
    end: plain.length,
  });
  for (const { gone } of family)
    for (let page = first; page < gone.length; page++) gone[page] ??= 'cut';
}

/** An array, or a part, goes to a NumPy file, of which another array is made. */
export async function saveAsNumPy(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  if (tracked === null) return;
  const { random, space } = player;
  const { array, plain } = tracked;
  const part = player.part(tracked.length);
  const length = part.end - part.begin;
  // An array over a file without elements has no parts.
  if (length === 0) return;
  const path = player.newFile(new Uint8Array(0));
  player.log(`await space.saveNpy(a file, ${tracked.name} ${part.begin} to ${part.end})`);
  const call = space.saveNpy(
    path,
    length === tracked.length ? array : array.range(part.begin, part.end),
  );
  const must = tracked.refusals(part, 'read');
  if (
    !(await player.judge(
      call,
      must,
      () => player.lossOf(tracked, part),
      `saveNpy() of ${tracked.name}`,
    ))
  ) {
    assert.equal(readFileSync(path).length, 0, 'a file that could not be saved');
    return;
  }
  const content = new Uint8Array(readFileSync(path));
  const byteOffset = content.length - length * plain.BYTES_PER_ELEMENT;
  const found = plainArray(array.type, length);
  bytesOf(found).set(content.subarray(byteOffset));
  tracked.compare(found, part, 'the NumPy file of');
  if (player.arrays.length >= MAX_ARRAYS) return;
  const shared = random.chance(0.3);
  const writable = shared || random.chance(0.5);
  const name = player.nextName();
  const mapped = !writable && random.chance(0.4);
  const options = { name, shared, ...(shared ? {} : { writable, mapped }) };
  player.log(`${name} = space.openNpy(the file, ${JSON.stringify(options)})`);
  const made = space.openNpy(path, options);
  assert.deepEqual(made.shape, [length]);
  const opened = plainArray(made.array.type, length);
  bytesOf(opened).set(bytesOf(found));
  const file = { path, byteOffset, content };
  const kind = shared ? 'shared' : mapped ? 'mapped' : 'file';
  player.track(new Tracked(name, made.array, opened, kind, writable, file));
}
