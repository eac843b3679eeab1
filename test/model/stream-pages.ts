/** What streams forget and free in their order. */
import assert from 'node:assert/strict';
import type { Player } from './player.js';
import type { Give, Lane } from './streams.js';
import { bytesOf, CURABLE, type Part, plainArray, type Tracked } from './tracked.js';

/** A part without elements of an array all of which has been freed: that is no affair of the stream. */
export function isRefusedAtOnce({ isFreed }: Tracked, { begin, end }: Part): boolean {
  return isFreed && begin === end;
}

export function giveDiscard(player: Player, lane: Lane, tracked: Tracked, give: Give): void {
  const part = player.part(tracked.length);
  const [first, end] = tracked.wholePagesOf(part);
  const whole = tracked.elementsOf(first, end);
  const { begin } = part;
  // What has no whole page is refused at once, which is no affair of the stream.
  if (begin < part.end && first >= end) return;
  if (isRefusedAtOnce(tracked, part)) return;
  give(lane, [tracked], () => {
    tracked.wrote = true;
    const event = lane.stream.discard(tracked.array.range(begin, part.end));
    return {
      text: `discard ${begin} to ${part.end} of ${tracked.name}`,
      event,
      must: () => {
        const codes = tracked.refusals(whole, 'write');
        for (const code of CURABLE) codes.delete(code);
        return codes;
      },
      may: () => [],
      done: () => {
        assert.deepEqual(event.elements, begin === part.end ? null : whole);
        tracked.healed(first, end);
        // Devices may have pages again, by what was given behind it.
        tracked.plain.fill(player.item(tracked, 0) as never, whole.begin, whole.end);
      },
      failed: () => undefined,
    };
  });
}

/** An array that is there for one copy, and freed behind it. */
export function giveFree(player: Player, lane: Lane, tracked: Tracked, give: Give): void {
  const { type } = tracked.array;
  const made = player.space.array(
    tracked.plain.constructor as Uint8ArrayConstructor,
    tracked.length,
  );
  const wanted = player.randomize(plainArray(type, tracked.length));
  bytesOf(made.data).set(bytesOf(wanted));
  const found = plainArray(type, tracked.length);
  give(lane, [], () => ({
    text: `copy an array of ${tracked.length} ${type}, for this copy alone`,
    event: lane.stream.copy(new Uint8Array(found.buffer), made),
    must: () => [],
    may: () => [],
    done: () => assert.deepEqual(bytesOf(found), bytesOf(wanted)),
    failed: () => undefined,
  }));
  give(lane, [], () => {
    const event = lane.stream.free(made);
    event.synchronize().catch(() => made.free());
    return {
      text: 'free it',
      event,
      must: () => [],
      may: () => [],
      done: () => assert.ok(made.isFreed),
      failed: () => undefined,
    };
  });
}
