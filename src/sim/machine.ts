/**
 * A link between two memories, as a file describes it, and the time that transfers would take on
 * it. The model: transfers of one direction follow each other, and each pays the latency. Both
 * directions run at once where the link is full duplex.
 */

export interface Machine {
  readonly name: string;
  readonly what: string;
  /** Bandwidth towards the memory, and away from it, in 10^9 bytes a second. */
  readonly inGBs: number;
  readonly outGBs: number;
  /** `half`: one direction at a time. */
  readonly duplex: 'full' | 'half';
  /** Before the first byte of each transfer. */
  readonly latencyUs: number;
  /** A transfer moves whole multiples of it. */
  readonly granularityBytes: number;
  readonly source: string;
}

/** How many transfers there are of each size in bytes. */
export type Transfers = ReadonlyMap<number, number>;

export const NO_TRANSFERS: Transfers = new Map();

const NS_PER_MS = 1e6;
const US_PER_MS = 1e3;

/** The time of transfers towards the memory and away from it, in milliseconds. */
export function transferMs(machine: Machine, inwards: Transfers, outwards: Transfers): number {
  const inMs = oneWayMs(machine, inwards, machine.inGBs);
  const outMs = oneWayMs(machine, outwards, machine.outGBs);
  return machine.duplex === 'full' ? Math.max(inMs, outMs) : inMs + outMs;
}

/** The least time for so many bytes: one transfer in each direction, without latency. */
export function leastMs(machine: Machine, inBytes: number, outBytes: number): number {
  const { duplex, inGBs, outGBs } = machine;
  const inMs = inBytes / inGBs / NS_PER_MS;
  const outMs = outBytes / outGBs / NS_PER_MS;
  return duplex === 'full' ? Math.max(inMs, outMs) : inMs + outMs;
}

/** All bytes of some transfers. */
export function bytesOf(transfers: Transfers): number {
  let sum = 0;
  for (const [bytes, count] of transfers) sum += bytes * count;
  return sum;
}

function oneWayMs({ latencyUs, granularityBytes }: Machine, transfers: Transfers, GBs: number) {
  let ms = 0;
  for (const [bytes, count] of transfers) {
    const moved = Math.ceil(bytes / granularityBytes) * granularityBytes;
    ms += count * (latencyUs / US_PER_MS + moved / GBs / NS_PER_MS);
  }
  return ms;
}

const POSITIVE = ['inGBs', 'outGBs', 'granularityBytes'] as const;
const TEXTS = ['name', 'what', 'source'] as const;

/** Throws an Error that says which field is wrong, and how it is written. */
export function parseMachine(text: string, name: string): Machine {
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new Error(`it is no JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new Error('it is no JSON object');
  const known: readonly string[] = [...POSITIVE, ...TEXTS, 'latencyUs', 'duplex'];
  const unknown = Object.keys(fields).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw new Error(`there is no field ${unknown}; there are ${known.join(', ')}`);
  const machine = { name, what: '', source: '', ...fields } as unknown as Machine;
  for (const key of POSITIVE)
    if (!(machine[key] > 0 && Number.isFinite(machine[key]))) throw wrong(machine, key, 'above 0');
  if (!(machine.latencyUs >= 0 && Number.isFinite(machine.latencyUs)))
    throw wrong(machine, 'latencyUs', 'of 0 or more');
  if (machine.duplex !== 'full' && machine.duplex !== 'half')
    throw new Error(`duplex is ${JSON.stringify(machine.duplex)}; write "full" or "half"`);
  for (const key of TEXTS)
    if (typeof machine[key] !== 'string') throw new Error(`${key} is no text`);
  return machine;
}

function wrong(machine: Machine, key: keyof Machine, range: string): Error {
  return new Error(`${key} is ${JSON.stringify(machine[key])}; it must be a number ${range}`);
}
