/** Bytes of arrays to and from the outside. */
import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import type { Hold, NumericArray } from '../../src/index.js';
import type { Player } from './player.js';
import { bytesOf, plainArray } from './tracked.js';

export async function readFrom(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  if (tracked === null) return;
  const { array, plain } = tracked;
  const part = player.part(tracked.length);
  const { begin, end } = part;
  const given = player.randomize(plain.slice(begin, end) as NumericArray);
  // A file that is too short ends the transfer earlier.
  const elements = player.random.chance(0.1)
    ? player.random.between(0, given.length - 1)
    : given.length;
  const bytes = bytesOf(given.subarray(0, elements) as NumericArray);
  player.log(`${tracked.name}.readFrom(a file of ${bytes.length} bytes, ${begin} to ${end})`);
  const fd = openSync(player.newFile(bytes), 'r');
  const [first, last] = tracked.wholePagesOf(part);
  tracked.wrote = true;
  tracked.holdOnly(part, tracked.usedBy);
  let moved = -1;
  const work = async (): Promise<void> => {
    const call = array.readFrom(fd, { begin, end, position: 0 }).then((count) => {
      moved = count;
    });
    // What a provider does not give is asked for all the same.
    const failures = [...tracked.refusals(part, 'read')].filter((code) => code !== 'DATA_LOST');
    const may = (): string[] => [...failures, ...player.lossOf(tracked, part)];
    const good = await player.judge(
      call,
      player.refusalsOfOverwriting(tracked, part),
      may,
      `readFrom() into ${tracked.name}`,
    );
    closeSync(fd);
    const full = elements === given.length;
    if (good && full) tracked.healed(first, last);
    else player.refreshGone(tracked, part);
    if (good) {
      assert.equal(moved, bytes.length);
      (plain as Float64Array).set(given.subarray(0, elements) as Float64Array, begin);
      return;
    }
    const wanted = plain.slice() as NumericArray;
    (wanted as Float64Array).set(given as Float64Array, begin);
    await player.adopt(
      tracked,
      part,
      [wanted, plainArray(array.type, plain.length)],
      'a transfer that failed',
    );
  };
  const done = work();
  player.occupy([tracked], done);
  if (player.random.chance(0.5)) await done;
}

export async function writeTo(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  if (tracked === null) return;
  const { array } = tracked;
  const part = player.part(tracked.length);
  player.log(`${tracked.name}.writeTo(a file, ${part.begin} to ${part.end})`);
  const path = player.newFile(new Uint8Array(0));
  const fd = openSync(path, 'w+');
  const must = tracked.refusals(part, 'read');
  let moved = -1;
  const work = async (): Promise<void> => {
    const call = array.writeTo(fd, part).then((count) => {
      moved = count;
    });
    const good = await player.judge(
      call,
      must,
      () => player.lossOf(tracked, part),
      `writeTo() of ${tracked.name}`,
    );
    if (good) {
      assert.equal(moved, (part.end - part.begin) * tracked.plain.BYTES_PER_ELEMENT);
      const found = plainArray(array.type, part.end - part.begin);
      readSync(fd, bytesOf(found), 0, found.byteLength, 0);
      tracked.compare(found, part, 'the file that was written from');
    }
    closeSync(fd);
  };
  const done = work();
  player.occupy([tracked], done);
  if (player.random.chance(0.5)) await done;
}

/** The bytes of a part as a stream, of Node's kind or of the web's. */
export async function streamOut(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  if (tracked === null) return;
  const { array, plain } = tracked;
  const part = player.part(tracked.length);
  const kind = player.random.pick(['createReadStream', 'toReadableStream'] as const);
  player.log(`${tracked.name}.${kind}(${JSON.stringify(part)})`);
  const must = tracked.refusals(part, 'read');
  const pieces: Uint8Array[] = [];
  const drain = async (): Promise<void> => {
    for await (const piece of array[kind](part)) pieces.push(piece as Uint8Array);
  };
  const work = async (): Promise<void> => {
    if (
      !(await player.judge(
        drain(),
        must,
        () => player.lossOf(tracked, part),
        `${kind}() of ${tracked.name}`,
      ))
    )
      return;
    const found = plainArray(array.type, part.end - part.begin);
    const bytes = Buffer.concat(pieces);
    assert.equal(bytes.length, (part.end - part.begin) * plain.BYTES_PER_ELEMENT);
    bytesOf(found).set(bytes);
    tracked.compare(found, part, 'a stream of');
  };
  const done = work();
  player.occupy([tracked], done);
  if (player.random.chance(0.5)) await done;
}

/** System calls use the array's own memory while it is held. */
export async function hold(player: Player): Promise<void> {
  const tracked = player.pickOwn(() => true);
  if (tracked === null) return;
  const { array, plain } = tracked;
  const part = player.part(tracked.length);
  const writable = player.random.chance(0.4);
  player.log(`await ${tracked.name}.hold(${JSON.stringify({ ...part, writable })})`);
  const must = tracked.refusals(part, writable ? 'write' : 'read');
  // What is pinned, or held by another hold, the CPU may write.
  must.delete('PINNED');
  let held: Hold | undefined;
  const call = array.hold({ ...part, writable }).then((made) => {
    held = made;
  });
  await player.judge(call, must, () => player.lossOf(tracked, part), `hold() of ${tracked.name}`);
  if (held === undefined) return;
  const { bytes } = held;
  const found = plain.slice(part.begin, part.end) as NumericArray;
  const fd = openSync(player.newFile(new Uint8Array(0)), 'w+');
  assert.equal(writeSync(fd, bytes, 0, bytes.length, 0), found.byteLength);
  readSync(fd, bytesOf(found), 0, found.byteLength, 0);
  tracked.compare(found, part, 'the held bytes of');
  if (writable) {
    const given = player.randomize(found);
    writeSync(fd, bytesOf(given), 0, given.byteLength, 0);
    assert.equal(readSync(fd, bytes, 0, bytes.length, 0), given.byteLength);
    (plain as Float64Array).set(given as Float64Array, part.begin);
    tracked.wrote = true;
    tracked.cameHome(part);
  }
  closeSync(fd);
  held.release();
}
