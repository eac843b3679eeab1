/** What the manager says of arrays, and what it refuses. */
import assert from 'node:assert/strict';
import { KERNELS } from './kernels.js';
import { codeOf, MIB, type Player } from './player.js';
import { isLost, type Tracked } from './tracked.js';

export async function report(player: Player): Promise<void> {
  const tracked = player.pickArray(() => true);
  const { processors } = player.space.stats();
  for (const { name, backedBytes, budgetBytes } of processors) {
    const room = name === 'host' ? readingRoom(budgetBytes) : 0;
    assert.ok(backedBytes <= budgetBytes + room, `${name}: ${backedBytes} of ${budgetBytes}`);
  }
  if (tracked !== null) checkReport(player, tracked);
}

/** Bytes beyond `hostMemory` that serve reading while the storage takes nothing more. */
function readingRoom(budgetBytes: number): number {
  return Math.min(8 * MIB, budgetBytes / 8);
}

/** What the manager says of an array's pages is what the model knows of them. */
export function checkReport(player: Player, tracked: Tracked): void {
  player.log(`${tracked.name}.residency(), dirty(), young(), attributes()`);
  const { array } = tracked;
  if (tracked.isFreed) {
    for (const ask of [
      () => array.residency(),
      () => array.dirty(),
      () => array.young(),
      () => array.attributes(),
    ])
      assert.throws(ask, (error) => codeOf(error) === 'USE_AFTER_FREE');
    return;
  }
  const { runs } = array.residency();
  // What was freed some time ago may be given to its clones just now, or be lost to them.
  player.noteLosses(tracked, runs);
  let at = 0;
  for (const { begin, end, state, rights, pinned } of runs) {
    assert.equal(begin, at, `residency() of ${tracked.name} leaves out elements`);
    at = end;
    const [first, last] = tracked.pagesOf({ begin, end });
    for (let page = first; page < last; page++) {
      const where = `page ${page} of ${tracked.name}`;
      const gone = tracked.gone[page];
      assert.equal(state === 'lost', isLost(gone), `${where} is ${state}, in the model ${gone}`);
      assert.equal(
        state === 'freed',
        gone === 'freed',
        `${where} is ${state}, in the model ${gone}`,
      );
      // What this machine may do with a block that others want it does not know from one moment to
      // the next.
      if (tracked.kind !== 'several')
        assert.equal(rights, tracked.rights[page], `rights of ${where}`);
      if (gone !== 'freed') assert.equal(pinned, tracked.pins[page] > 0, `${where} is pinned`);
    }
  }
  assert.equal(at, tracked.length);
  for (const { begin, end } of array.dirty()) assert.ok(begin < end && end <= tracked.length);
  for (const { begin, end } of array.young()) assert.ok(begin < end && end <= tracked.length);
  array.attributes();
  const index = player.random.below(tracked.length);
  const attributes = player.space.pointerAttributes(array.addressOf(index));
  const [page] = tracked.pagesOf({ begin: index, end: index + 1 });
  if (tracked.gone[page] !== 'freed') assert.equal(attributes?.element, index);
}

/** What cannot be had is refused, and nothing is left of it. */
export async function refused(player: Player): Promise<void> {
  player.log('an array that is too large');
  assert.throws(
    () => player.space.array(Float64Array, 64 * MIB),
    (error) => codeOf(error) === 'HOST_BUDGET',
  );
  assert.throws(
    () => player.space.fileArray(Float64Array, '/proc/self/exe', { byteOffset: 2 ** 40 }),
    (error) => error instanceof RangeError,
  );
  const device = player.pickDevice();
  const tracked = player.pickArray(({ writable, isFreed }) => writable && !isFreed);
  if (device === null || tracked === null) return;
  const { array } = tracked;
  player.log(`a launch for ${tracked.name} and a part of it that overlap`);
  const { begin, end } = player.part(tracked.length);
  // A launch without work items is not looked at.
  if (begin === end) return;
  const overlapping = { x: array, y: array.range(begin, end) } as never;
  await assert.rejects(
    async () =>
      device.device.run(KERNELS[array.type].accumulate, overlapping, { size: end - begin }),
    (error) => codeOf(error) === 'OVERLAPPING_ARGUMENTS',
  );
}
