/**
 * Memory of the program's own in streams: launches and copies use parts of it as arrays of any
 * type, functions of the program's write it.
 */
import assert from 'node:assert/strict';
import type { ElementType, NumericArray } from '../../src/index.js';
import { KERNELS, runHere } from './kernels.js';
import type { Player } from './player.js';
import type { Give, Lane, Operation } from './streams.js';
import { bytesOf, CONSTRUCTORS, type Part, type PlainType, type Tracked } from './tracked.js';

const BYTES = 3 * 4096 + 24;
/** Those whose bytes are the same wherever they are added up. */
const TYPES: readonly PlainType[] = ['i8', 'u8', 'u8c', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'];

/** Bytes that the program has, beside what must be in them when all has ended. */
export class Loose {
  readonly found = new ArrayBuffer(BYTES);
  readonly wanted = new ArrayBuffer(BYTES);

  constructor(player: Player) {
    player.randomize(new Uint8Array(this.found));
    new Uint8Array(this.wanted).set(new Uint8Array(this.found));
  }

  check(): void {
    const at = Buffer.compare(new Uint8Array(this.found), new Uint8Array(this.wanted));
    if (at === 0) return;
    const found = new Uint8Array(this.found);
    const wrong = new Uint8Array(this.wanted).findIndex((byte, i) => byte !== found[i]);
    assert.fail(`byte ${wrong} of an array of the program's own is ${found[wrong]}`);
  }
}

/** A part as an array of one type, in what the program has or in what must be there. */
interface View {
  readonly type: PlainType;
  readonly of: (buffer: ArrayBuffer) => NumericArray;
  readonly text: string;
}

function someView({ random }: Player): View {
  const type = random.pick(TYPES);
  const size = CONSTRUCTORS[type].BYTES_PER_ELEMENT;
  const most = BYTES / size;
  const begin = random.chance(0.3) ? 0 : random.below(most);
  const length = random.chance(0.3) ? most - begin : random.between(1, most - begin);
  const text = `${length} of the program's own ${type} from byte ${begin * size} on`;
  return { type, of: (buffer) => new CONSTRUCTORS[type](buffer, begin * size, length), text };
}

export function giveLoose(player: Player, lane: Lane, loose: Loose, give: Give): void {
  const { random } = player;
  const tracked = player.pickArray(({ busy }) => busy === null);
  if (tracked !== null && random.chance(0.3)) giveOutward(player, lane, loose, tracked, give);
  else if (random.chance(0.2)) giveWrite(player, lane, loose, give);
  else giveLaunch(player, lane, loose, give);
}

function giveLaunch(player: Player, lane: Lane, loose: Loose, give: Give): void {
  const { random } = player;
  const view = someView(player);
  const name = random.pick(['add', 'addFromModule', 'fill', 'fail'] as const);
  const kernel = KERNELS[view.type as ElementType][name];
  const { length } = view.of(loose.wanted);
  const { begin, end } = player.part(length);
  const range = { begin, end, size: length };
  const item = random.below(100);
  const by = view.type === 'i64' || view.type === 'u64' ? BigInt(item) : item;
  // A launch without work items runs no kernel.
  const runs = begin < end;
  const args = (buffer: ArrayBuffer) => ({
    x: view.of(buffer),
    ...(name === 'fail' ? {} : { by }),
  });
  give(lane, [loose], () => ({
    ...nothingBut(`launch ${name} for ${begin} to ${end} of ${view.text}`),
    event: lane.stream.launch(kernel, args(loose.found) as never, range),
    must: () => (runs && name === 'fail' ? ['KERNEL_ERROR'] : []),
    may: () => (lane.device.specification.kind === 'simulated' ? ['DEVICE_MEMORY'] : []),
    done: () => {
      if (name === 'fill' && begin === 0 && end === length) bytesOf(view.of(loose.wanted)).fill(0);
      if (runs) runHere(kernel, args(loose.wanted), range);
    },
  }));
}

function giveOutward(player: Player, lane: Lane, loose: Loose, tracked: Tracked, give: Give): void {
  const view = someView(player);
  const bytes = bytesOf(view.of(loose.found));
  const size = tracked.plain.BYTES_PER_ELEMENT;
  const length = Math.min(tracked.length, Math.floor(bytes.length / size));
  if (length === 0) return;
  const begin = player.random.below(tracked.length - length + 1);
  const source: Part = { begin, end: begin + length };
  const part = (buffer: ArrayBuffer): Uint8Array =>
    bytesOf(view.of(buffer)).subarray(0, length * size);
  give(lane, [tracked, loose], () => ({
    ...nothingBut(`copy ${tracked.name} ${source.begin} to ${source.end} to ${view.text}`),
    event: lane.stream.copy(part(loose.found), tracked.array.range(source.begin, source.end)),
    must: () => tracked.refusals(source, 'read'),
    may: () => player.lossOf(tracked, source),
    done: () =>
      part(loose.wanted).set(
        bytesOf(tracked.plain.subarray(source.begin, source.end) as NumericArray),
      ),
  }));
}

function giveWrite(player: Player, lane: Lane, loose: Loose, give: Give): void {
  const view = someView(player);
  const item = player.random.below(256);
  const write = (buffer: ArrayBuffer) => bytesOf(view.of(buffer)).fill(item);
  give(lane, [loose], () => ({
    ...nothingBut(`call a function that fills ${view.text}`),
    event: lane.stream.call(() => void write(loose.found)),
    done: () => void write(loose.wanted),
  }));
}

function nothingBut(text: string): Pick<Operation, 'text' | 'must' | 'may' | 'failed'> {
  return { text, must: () => [], may: () => [], failed: () => undefined };
}
