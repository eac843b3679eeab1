/**
 * Memory that the manager and the threads of a device's process share, in which a launch is handed
 * over: what is to run, which part of it each unit has, and how many parts have not ended. So a
 * launch and its good end pass no thread that has nothing to do with it. What is as it was for the
 * launch before is not written again, and a unit need not read it again.
 */
import type { DriverLaunch } from '../driver.js';
import { ASSIGNMENT_WORDS, Assignment } from './assignment.js';
import { jsonText, MAX_PACKET_BYTES, parseJson } from './protocol.js';

/** What is the same for launches of one kernel with the same arguments. */
type Description = Pick<DriverLaunch, 'kernelName' | 'code' | 'parameters'>;
type Range = Pick<DriverLaunch, 'begin' | 'end' | 'size'>;

/** Words of the first line. */
const PARTS = 0;
const VERSION = 1;
const TEXT_BYTES = 2;
/** Beside the number of parts: the manager does not look, and is to be told of the end. */
const TELL = 2 ** 16;
/** Where begin, end and size are, as 64-bit floating-point numbers. */
const RANGE_AT = 16;
/** No two units write the same line of the caches. */
const LINE_BYTES = 64;
const PAGE_BYTES = 4096;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class LaunchBoard {
  private readonly words: Int32Array;
  private readonly range: Float64Array;
  private readonly text: Uint8Array;
  private readonly units: Assignment[];
  /** What was written or read last. */
  private last: Description | null = null;
  private lastVersion = 0;

  /** Bytes of memory that a device with so many units needs. */
  static bytesFor(units: number): number {
    return Math.ceil((textAt(units) + MAX_PACKET_BYTES) / PAGE_BYTES) * PAGE_BYTES;
  }

  /** @param memory of the size that `bytesFor` says, zero at the beginning */
  constructor(memory: ArrayBuffer, units: number) {
    this.words = new Int32Array(memory, 0, LINE_BYTES / 4);
    this.range = new Float64Array(memory, RANGE_AT, 3);
    this.text = new Uint8Array(memory, textAt(units));
    this.units = Array.from(
      { length: units },
      (_, unit) =>
        new Assignment(new Int32Array(memory, (unit + 1) * LINE_BYTES, ASSIGNMENT_WORDS)),
    );
  }

  unit(unit: number): Assignment {
    return this.units[unit];
  }

  /** Says what is to run, in how many parts. No part of another launch may be left. */
  write(launch: DriverLaunch, parts: number): void {
    if (this.last === null || !isSame(launch, this.last)) this.describe(launch);
    const { range } = this;
    range[0] = launch.begin;
    range[1] = launch.end;
    range[2] = launch.size;
    Atomics.store(this.words, PARTS, parts);
  }

  /** Whether all parts of the launch that was written last are over. */
  get allOver(): boolean {
    return Atomics.load(this.words, PARTS) % TELL === 0;
  }

  /** The manager looks no more. True: the launch is over; otherwise a unit tells it. */
  unwatch(): boolean {
    return Atomics.or(this.words, PARTS, TELL) % TELL === 0;
  }

  /** What a unit is to run that has been given a part. */
  read(): { readonly description: Description; readonly range: Range } {
    const version = Atomics.load(this.words, VERSION);
    if (this.last === null || version !== this.lastVersion) {
      // The engine decodes no memory that others might write meanwhile, for all it knows.
      const text = decoder.decode(this.text.slice(0, this.words[TEXT_BYTES]));
      this.last = parseJson<Description>(text);
      this.lastVersion = version;
    }
    const { range } = this;
    return {
      description: this.last,
      range: { begin: asInteger(range[0]), end: asInteger(range[1]), size: asInteger(range[2]) },
    };
  }

  /** A unit's part is over. True: it was the last, and the manager is to be told. */
  endPart(unit: number, launch: number): boolean {
    this.units[unit].setOver(launch);
    return Atomics.sub(this.words, PARTS, 1) === TELL + 1;
  }

  private describe({ kernelName, code, parameters }: DriverLaunch): void {
    const description: Description = { kernelName, code, parameters };
    const bytes = encoder.encode(jsonText(description));
    if (bytes.length > MAX_PACKET_BYTES) {
      throw new RangeError(
        `kernel ${kernelName} and its arguments take ${bytes.length} bytes as text, and a launch takes at most ${MAX_PACKET_BYTES}; put the ` +
          'kernel into a module of its own',
      );
    }
    this.text.set(bytes);
    this.words[TEXT_BYTES] = bytes.length;
    Atomics.add(this.words, VERSION, 1);
    this.last = description;
  }
}

/**
 * The same number. What is read from floating-point memory is a floating-point number to the
 * engine, whatever its value, and so would be the counter of a kernel's loop that begins with it:
 * such a loop takes a quarter longer.
 */
function asInteger(value: number): number {
  const integer = value | 0;
  return integer === value ? integer : value;
}

function textAt(units: number): number {
  return (units + 1) * LINE_BYTES;
}

function isSame(one: Description, other: Description): boolean {
  if (one.kernelName !== other.kernelName || one.parameters.length !== other.parameters.length)
    return false;
  if (!isSameRecord(one.code, other.code)) return false;
  return one.parameters.every((parameter, at) => isSameRecord(parameter, other.parameters[at]));
}

/** Of records without records in them. */
function isSameRecord(one: object, other: object): boolean {
  const keys = Object.keys(one) as (keyof typeof one)[];
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.is(one[key], other[key]))
  );
}
