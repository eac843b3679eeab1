/** Processes that attach to the space, come and go, and are killed or stopped at any moment. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ArrayHandle, NumericArray } from '../../src/index.js';
import type { GuestTask } from './guest.js';
import { KERNELS, runHere } from './kernels.js';
import type { Player } from './player.js';
import type { Tracked } from './tracked.js';

const PROGRAM = fileURLToPath(new URL('./guest.js', import.meta.url));
const MOST = 2;

export class Guest {
  readonly process: ChildProcess = fork(PROGRAM, {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  readonly exit = once(this.process, 'exit') as Promise<[number | null, string | null]>;
  busy = false;

  /** Resolves when it has done the task; false: it was killed before. */
  async does(task: GuestTask): Promise<boolean> {
    this.process.send(task);
    const ended = this.exit.then(([code, signal]) => {
      if (signal === 'SIGKILL') return false;
      throw new Error(`a process that attached ended by ${signal ?? code}`);
    });
    const answer = await Promise.race([
      (once(this.process, 'message') as Promise<[string]>).then(([text]) => text),
      ended,
    ]);
    if (answer === false) return false;
    if (answer !== 'done') throw new Error(`a process that attached failed: ${answer}`);
    return true;
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exit;
  }
}

/** A process looks at an array, writes, and may be killed while it does. */
export async function callGuest(player: Player): Promise<void> {
  const { random } = player;
  const tracked = player.pickArray(
    ({ kind, gone, rights }) =>
      kind !== 'provided' &&
      kind !== 'mapped' &&
      gone.every((each) => each === null) &&
      !rights.includes('none'),
  );
  const guest = guestOf(player);
  if (tracked === null || guest === null) return;
  const looks = tracked.refusals(tracked.whole, 'write').size > 0 || random.chance(0.2);
  const { begin, end } = player.part(tracked.length);
  const dies = !looks && random.chance(0.15);
  const device = !looks && !dies && random.chance(0.4) ? player.pickDevice() : null;
  // The memory of others is too small for some arrays.
  const onDevice = device?.specification.kind === 'process' ? device : null;
  const task: GuestTask = {
    handle: JSON.parse(JSON.stringify(tracked.array.handle)) as ArrayHandle,
    expected: tracked.plain.slice() as NumericArray,
    looks,
    begin,
    end,
    value: random.below(50),
    device: onDevice?.name ?? null,
    clones: tracked.kind !== 'several' && random.chance(0.2),
  };
  const how = looks ? 'looks at' : `writes ${task.value} into ${begin} to ${end} of`;
  player.log(
    `process ${guest.process.pid} ${how} ${tracked.name}, device ${task.device}${dies ? ', and is killed' : ''}`,
  );
  if (!looks) {
    tracked.wrote = true;
    // One that is killed may not have come to any page.
    if (!dies) tracked.cameHome({ begin, end });
  }
  if (onDevice !== null) {
    tracked.usedBy |= onDevice.bit;
    tracked.holdOnly(tracked.whole, onDevice.bit);
  }
  guest.busy = true;
  const killed = dies ? killSoon(player, guest) : null;
  const visiting = play(player, guest, tracked, task).finally(async () => {
    await killed;
    guest.busy = false;
    player.visits.delete(visiting);
  });
  player.visits.add(visiting);
  player.occupy([tracked], visiting);
  if (dies || random.chance(0.3)) await visiting;
}

async function play(
  player: Player,
  guest: Guest,
  tracked: Tracked,
  task: GuestTask,
): Promise<void> {
  const { begin, end, looks, value, device } = task;
  const done = await guest.does(task);
  if (looks) return;
  const { plain, array } = tracked;
  const item = player.item(tracked, value) as never;
  const filled = plain.slice().fill(item, begin, end) as NumericArray;
  if (!done) {
    await player.adopt(tracked, { begin, end }, [filled], 'a process that was killed');
    return;
  }
  plain.fill(item, begin, end);
  const range = { begin: 0, end: plain.length, size: plain.length };
  if (device !== null) runHere(KERNELS[array.type].add, { x: plain, by: item }, range);
}

function guestOf(player: Player): Guest | null {
  const { guests, random } = player;
  if (guests.length < MOST && (guests.length === 0 || random.chance(0.3))) guests.push(new Guest());
  const idle = guests.filter(({ busy }) => !busy);
  return idle.length === 0 ? null : random.pick(idle);
}

async function killSoon(player: Player, guest: Guest): Promise<void> {
  player.guests.splice(player.guests.indexOf(guest), 1);
  await new Promise((resolve) => setTimeout(resolve, player.random.below(40)));
  await guest.kill();
}

/** A process that does nothing ends, by force or not, or stands still from now on. */
export async function endGuest(player: Player): Promise<void> {
  const idle = player.guests.filter(({ busy }) => !busy);
  if (idle.length === 0) return;
  const guest = player.random.pick(idle);
  const how = player.random.pick(['kill', 'disconnect', 'stop'] as const);
  player.log(`process ${guest.process.pid}: ${how}`);
  if (how === 'stop') {
    guest.process.kill('SIGSTOP');
    // Nothing asks it any more; it is killed at the end.
    guest.busy = true;
    return;
  }
  player.guests.splice(player.guests.indexOf(guest), 1);
  if (how === 'kill') await guest.kill();
  else {
    guest.process.disconnect();
    await guest.exit;
  }
}
