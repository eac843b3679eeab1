/**
 * What is said of pages: rights, pins, advice, that their content is forgotten, that a notifier
 * watches them.
 */
import type { Advice, Pin, Rights } from '../../src/index.js';
import type { Player } from './player.js';
import { CURABLE, type Part, type Tracked } from './tracked.js';

export async function protect(player: Player): Promise<void> {
  const tracked = player.pickOwn(() => true);
  if (tracked === null) return;
  const part = pagesPart(player, tracked);
  const lowered = tracked.rights.some((each) => each !== 'readwrite');
  const rights: Rights = player.random.pick(
    lowered
      ? (['none', 'read', 'readwrite', 'readwrite', 'readwrite'] as const)
      : (['none', 'read'] as const),
  );
  player.log(`await ${tracked.name}.protect('${rights}', ${JSON.stringify(part)})`);
  const must = tracked.freedIn(part);
  if (rights === 'readwrite' && !tracked.writable) must.push('ACCESS_DENIED');
  if (rights === 'none' && tracked.kind === 'shared') must.push('SHARED_NO_ACCESS');
  if (tracked.kind === 'mapped') must.push('MAPPED_ARRAY');
  else if (rights === 'none') tracked.wasHidden = true;
  const good = await player.judge(
    tracked.array.protect(rights, part),
    must,
    [],
    `protect('${rights}')`,
  );
  const [first, end] = tracked.pagesOf(part);
  const most = tracked.writable ? rights : rights === 'readwrite' ? 'read' : rights;
  if (good) tracked.rights.fill(most, first, end);
}

export async function discard(player: Player): Promise<void> {
  const tracked = player.pickOwn(() => true);
  if (tracked === null) return;
  const part = player.part(tracked.length);
  const [first, end] = tracked.wholePagesOf(part);
  const whole = tracked.elementsOf(first, end);
  const none = part.begin < part.end && first >= end;
  const must = none ? new Set(['NO_WHOLE_PAGE']) : tracked.refusals(whole, 'write');
  // What is lost, or cannot be had, may be forgotten.
  for (const code of CURABLE) must.delete(code);
  player.log(`await ${tracked.name}.discard(${JSON.stringify(part)})`);
  tracked.wrote = true;
  const good = await player.judge(
    tracked.array.discard(part),
    must,
    [],
    `discard() of ${tracked.name}`,
  );
  if (!good) return;
  tracked.healed(first, end);
  tracked.cameHome(whole);
  tracked.plain.fill(player.item(tracked, 0) as never, whole.begin, whole.end);
}

/** A part whose ends are those of pages. */
function pagesPart(player: Player, tracked: Tracked): Part {
  const { random } = player;
  if (random.chance(0.3)) return tracked.whole;
  const first = random.below(tracked.pages);
  return tracked.elementsOf(first, random.between(first + 1, tracked.pages));
}

export async function pin(player: Player): Promise<void> {
  const tracked = player.pickOwn(() => true);
  if (tracked === null || player.pins.length >= 4) return;
  const part = player.part(tracked.length);
  player.log(`await ${tracked.name}.pin(${JSON.stringify(part)})`);
  const must = tracked.refusals(part, 'read');
  let pin: Pin | undefined;
  const call = tracked.array.pin({ ...part, lock: player.random.chance(0.2) }).then((made) => {
    pin = made;
  });
  await player.judge(call, must, [], `pin() of ${tracked.name}`);
  if (pin === undefined) return;
  const [first, end] = tracked.pagesOf(part);
  for (let page = first; page < end; page++) tracked.pins[page]++;
  player.pins.push({ pin, tracked, first, end });
}

export async function unpin(player: Player): Promise<void> {
  const index = player.random.below(player.pins.length);
  // An operation that uses the array now was told what was pinned when it began.
  if (player.pins[index].tracked.busy === null) unpinAt(player, index);
}

function unpinAt(player: Player, index: number): void {
  const [{ pin, tracked, first, end }] = player.pins.splice(index, 1);
  player.log(`unpin ${tracked.name}, pages ${first} to ${end}`);
  pin.unpin();
  for (let page = first; page < end; page++) tracked.pins[page]--;
}

export async function unpinAll(player: Player): Promise<void> {
  while (player.pins.length > 0) unpinAt(player, 0);
}

export async function advise(player: Player): Promise<void> {
  const tracked = player.pickOwn(() => true);
  if (tracked === null) return;
  const { random } = player;
  const device = player.pickDevice();
  const part = player.part(tracked.length);
  const choices: Advice[] = [
    { readMostly: random.chance(0.6) },
    { pattern: random.pick(['normal', 'sequential', 'random'] as const) },
    { preferredLocation: random.pick([null, 'host', device?.device ?? null] as const) },
    {
      accessedBy: random.pick([
        null,
        device?.device ?? null,
        player.devices.filter(({ alive }) => alive).map(({ device }) => device),
      ]),
    },
  ];
  const advice = random.pick(choices);
  const inPlace = advice.accessedBy !== undefined && advice.accessedBy !== null;
  const shown = JSON.stringify(advice, (_, value) =>
    value instanceof Object && 'pid' in value ? value.name : value,
  );
  player.log(`${tracked.name}.advise(${shown}, ${JSON.stringify(part)})`);
  const call = async (): Promise<unknown> => tracked.array.advise(advice, part);
  const good = await player.judge(
    call(),
    tracked.isFreed ? ['USE_AFTER_FREE'] : [],
    [],
    `advise() of ${tracked.name}`,
  );
  if (good && inPlace) tracked.advisedInPlace = true;
}

export async function watch(player: Player): Promise<void> {
  if (player.notifiers.length >= 3) {
    const [{ notifier, tracked }] = player.notifiers.splice(
      player.random.below(player.notifiers.length),
      1,
    );
    player.log(`no longer watch ${tracked.name}`);
    notifier.close();
    return;
  }
  const tracked = player.pickOwn(() => true);
  if (tracked === null) return;
  player.log(`await ${tracked.name}.watch()`);
  const onInvalidate = player.random.chance(0.5) ? { onInvalidate: () => undefined } : {};
  const call = tracked.array
    .watch(onInvalidate)
    .then((notifier) => void player.notifiers.push({ tracked, notifier }));
  const must = tracked.isFreed ? ['USE_AFTER_FREE'] : [];
  await player.judge(call, must, tracked.freedIn(tracked.whole), `watch() of ${tracked.name}`);
}
