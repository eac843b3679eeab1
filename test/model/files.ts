/** Arrays over files, and what becomes of the files. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { NumericArray } from '../../src/index.js';
import type { Player } from './player.js';
import { bytesOf, type Part, plainArray, type Tracked } from './tracked.js';

export async function flush(player: Player): Promise<void> {
  const tracked = player.pickArray(({ kind }) => kind === 'shared');
  if (tracked === null) return;
  const part = player.part(tracked.length);
  player.log(`await ${tracked.name}.flush(${JSON.stringify(part)})`);
  const may =
    tracked.gone.includes('lost') || tracked.gone.includes('freed')
      ? ['FLUSH_FAILED', 'DATA_LOST', 'USE_AFTER_FREE']
      : [];
  const durable = player.random.chance(0.2);
  const good = await player.judge(tracked.array.flush({ ...part, durable }), [], may, `flush() of ${tracked.name}`);
  if (!good) return;
  checkFile(player, tracked, part);
  if (part.begin === 0 && part.end === tracked.length) tracked.wrote = false;
}

/** After a flush of the part the file has it, and what lies around the array is as it was. */
export function checkFile(_player: Player, tracked: Tracked, part: Part): void {
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
    tracked.compare(inFile.subarray(begin, last) as NumericArray, { begin, end: last }, 'the file of');
  }
  const behind = file.byteOffset + plain.byteLength;
  assert.ok(found.subarray(0, file.byteOffset).equals(file.content.subarray(0, file.byteOffset)), 'before the array');
  assert.ok(found.subarray(behind).equals(file.content.subarray(behind)), 'behind the array');
}

export async function reload(player: Player): Promise<void> {
  const tracked = player.pickArray(
    ({ kind, pins, gone, clones }) =>
      (kind === 'file' || kind === 'shared') &&
      pins.every((each) => each === 0) &&
      !gone.includes('freed') &&
      clones.size === 0,
  );
  if (tracked?.file == null) return;
  const { random } = player;
  const { path, byteOffset } = tracked.file;
  const { plain } = tracked;
  const discard = random.chance(0.6);
  // Another program writes the file, if nothing of ours is to be lost by it.
  if (discard || !tracked.wrote) {
    const at = random.below(plain.length);
    const given = player.randomize(plain.slice(at, random.between(at + 1, plain.length)) as NumericArray);
    const fd = openSync(path, 'r+');
    writeSync(fd, bytesOf(given), 0, given.byteLength, byteOffset + at * plain.BYTES_PER_ELEMENT);
    closeSync(fd);
  }
  player.log(`await ${tracked.name}.reload({ discard: ${discard} })`);
  const may = discard || !tracked.wrote ? [] : ['UNFLUSHED_CHANGES'];
  const good = await player.judge(tracked.array.reload({ discard }), [], may, `reload() of ${tracked.name}`);
  if (!good) return;
  const found = readFileSync(path);
  bytesOf(plain).set(found.subarray(byteOffset, byteOffset + plain.byteLength));
  tracked.file.content.set(found);
  tracked.wrote = false;
  // What was lost was a change, too, and is forgotten with the others only if that was said.
  if (discard) tracked.healed(0, tracked.pages);
  tracked.cameHome(tracked.whole);
}
