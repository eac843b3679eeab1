/**
 * What the manager and the process of a device tell each other, a packet a message: one kind byte,
 * then numbers or JSON. What a launch is stands on the board (board.ts).
 */
import type { LaunchFailure } from '../driver.js';

/** The socket's buffer limits packets; a kernel with a larger source belongs in a module. */
export const MAX_PACKET_BYTES = 128 * 1024;

export const Packet = {
  /** Manager to device: JSON of Hello, with descriptors of its memory, the host's, the board's. */
  Hello: 1,
  /** Device to manager: the descriptor through which its faults are served. */
  Registered: 2,
  /** Device to manager: it takes launches. */
  Ready: 3,
  /** Manager to device: take the mapping of pages away. token, page, count. */
  Zap: 4,
  /** Device to manager: done. token. */
  Zapped: 5,
  /** Manager to device: give a unit, started if need be, the board's launch. unit, launch. */
  Give: 6,
  /** Device to manager: the last part of a launch is over. Its id. */
  Launched: 7,
  /** Device to manager: JSON of a text; the device, or a unit of it, could not start. */
  Failed: 8,
  /** Manager to device: a block reaches host memory (1) or the device's (0). token, page, 0/1. */
  Remap: 9,
  /**
   * Device to manager: a thread is up. Its place (0 the control thread, then the units), the
   * kernel's id of it; 0: it has ended, and another one is about to take its place. With that of a
   * unit comes the socket that wakes it.
   */
  Thread: 10,
  /** Manager to device: end the units that work on a launch. Its id. */
  Abort: 11,
  /** Device to manager: JSON of UnitEnd. */
  UnitEnded: 12,
  /** Manager to device: a page of its own in host memory's place. token, page. Answer: Zapped. */
  Cover: 13,
  /** A unit to the manager: JSON of UnitFailure. */
  UnitFailed: 14,
  /** Manager to device: have a unit look at the board. unit. */
  Wake: 15,
  /** Manager to device: JSON of ShownFile, with the descriptor: map it. Answer: Shown. */
  Show: 16,
  /** Device to manager: whether (1) the file has been mapped. Its window's number. */
  Shown: 17,
  /** Manager to device: JSON of HiddenFile: unmap it. */
  Hide: 18,
} as const;

export interface Hello {
  readonly base: number;
  readonly bytes: number;
  readonly units: number;
  readonly name: string;
}

/** Where to map a file, by pages: addresses have more bits than packets' numbers. */
export interface ShownFile {
  readonly window: number;
  readonly page: number;
  readonly offset: number;
  readonly bytes: number;
  readonly writable: boolean;
}

export type HiddenFile = Pick<ShownFile, 'page' | 'bytes'>;

/** How a unit's part of a launch has failed; the unit goes on. */
export interface UnitFailure {
  readonly launch: number;
  readonly failure: LaunchFailure;
}

/** A unit has ended in the middle of a launch, and another one has taken its place. */
export interface UnitEnd {
  readonly launch: number;
  readonly unit: number;
  /** The manager wanted it. */
  readonly aborted: boolean;
  readonly exitCode: number;
  /** The error that it ended by, since the kernel did not catch it; null: there was none. */
  readonly error: {
    readonly name: string;
    readonly message: string;
    readonly stack: string;
  } | null;
}

/** Control thread to main thread: wake or start a unit, or end those of a launch. */
export type Order = { readonly wake: number } | { readonly abort: number };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** JSON has no words for these values; all may be arguments of a kernel. */
function replacer(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return { $bigint: `${value}` };
  if (typeof value !== 'number') return value;
  if (Object.is(value, -0)) return { $number: '-0' };
  return Number.isFinite(value) ? value : { $number: `${value}` };
}

function reviver(_key: string, value: { $bigint?: string; $number?: string } | null): unknown {
  if (value?.$bigint !== undefined) return BigInt(value.$bigint);
  return value?.$number === undefined ? value : Number(value.$number);
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, replacer);
}

export function parseJson<T>(text: string): T {
  return JSON.parse(text, reviver) as T;
}

export function jsonPacket(kind: number, value: unknown): Uint8Array {
  const text = encoder.encode(jsonText(value));
  const packet = new Uint8Array(text.length + 1);
  packet[0] = kind;
  packet.set(text, 1);
  return packet;
}

export function readJson<T>(packet: Uint8Array): T {
  return parseJson(decoder.decode(packet.subarray(1)));
}

export function numberPacket(kind: number, a = 0, b = 0, c = 0): Uint8Array {
  const packet = new Uint8Array(13);
  const view = new DataView(packet.buffer);
  packet[0] = kind;
  view.setUint32(1, a, true);
  view.setUint32(5, b, true);
  view.setUint32(9, c, true);
  return packet;
}

export function readNumber(packet: Uint8Array, index: number): number {
  return new DataView(packet.buffer, packet.byteOffset, packet.byteLength).getUint32(
    1 + index * 4,
    true,
  );
}

/** One contiguous part a unit, at multiples of 1024, so that units seldom share a page. */
export function partition(
  begin: number,
  end: number,
  units: number,
): { begin: number; end: number }[] {
  const total = end - begin;
  let each = Math.ceil(total / units);
  if (each > 1024) each = Math.ceil(each / 1024) * 1024;
  const parts: { begin: number; end: number }[] = [];
  for (let at = begin; at < end; at += each)
    parts.push({ begin: at, end: Math.min(at + each, end) });
  return parts;
}
