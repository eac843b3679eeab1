/**
 * What all benches share: runs in turn, medians, and lines that say everything needed to doubt
 * them.
 */

/** One figure beside its reference. */
export interface Line {
  readonly name: string;
  readonly ours: number;
  /**
   * Null where there is nothing to compare with; `skipped` then says why, if something is missing.
   */
  readonly reference: number | null;
  /** Ours divided by the reference: below 1 is better for times, above 1 for rates. */
  readonly ratio: number | null;
  readonly unit: string;
  readonly runs: number;
  /** Largest minus smallest of our runs, as a part of the median. */
  readonly spread: number;
  readonly [extra: string]: unknown;
}

export interface Settings {
  /** Runs of each side; the medians are reported. */
  readonly runs: number;
  /** Bytes of the GPU's memory that benches of GPUs use. */
  readonly gpuMemory: number;
  /** Whether a figure was asked for: the names of the command line are prefixes. */
  wants(name: string): boolean;
  report(line: Line): void;
}

export interface Bench {
  readonly name: string;
  /** One line for --list. */
  readonly what: string;
  run(settings: Settings): Promise<void>;
}

type Measured = () => number | Promise<number>;

export interface Comparison {
  readonly name: string;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  readonly ours: Measured;
  /**
   * Where there are several, ours is compared with the best of them; the others are printed beside.
   */
  readonly references?: Readonly<Record<string, Measured>>;
  /**
   * Further figures of ours or of the machine, measured in turn with the rest, that are printed and
   * not compared.
   */
  readonly beside?: Readonly<Record<string, Measured>>;
  readonly extra?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>);
  /**
   * Runs whose figures are thrown away: the compiler is through with the fault path after some
   * thousand faults.
   */
  readonly warmUp?: number;
  /**
   * Runs of ours alone that come before these, for what takes the compiler thousands of calls. The
   * median of the first of them is reported beside (`beforeCompiled`): a program that does it only
   * now and then has that.
   */
  readonly compiledAfter?: number;
  /** Whether the references are compiled as well: they run as often before. */
  readonly compilesReferences?: boolean;
  /**
   * Another side begins each time: what one has left behind, as a disk that still writes, the next
   * one finds.
   */
  readonly rotates?: boolean;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / median(values);
}

/** Four significant digits: more would claim what no run repeats. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/**
 * Measures ours and every reference in turn, so that whatever else the machine does falls on all of
 * them.
 */
export async function compare(settings: Settings, comparison: Comparison): Promise<Line | null> {
  const {
    name,
    unit,
    better,
    ours,
    references = {},
    beside = {},
    extra = {},
    warmUp = 1,
    compiledAfter = 0,
    compilesReferences = false,
    rotates = false,
  } = comparison;
  if (!settings.wants(name)) return null;
  const first: number[] = [];
  const firstOthers: number[] = [];
  const [compiled] = compilesReferences ? Object.values(references) : [];
  for (let run = 0; run < compiledAfter; run++) {
    first.push(await ours());
    if (compiled !== undefined) firstOthers.push(await compiled());
  }
  const own: number[] = [];
  const others = new Map<string, number[]>();
  const sides: [Measured, number[]][] = [[ours, own]];
  for (const [key, measured] of [...Object.entries(references), ...Object.entries(beside)]) {
    const values: number[] = [];
    others.set(key, values);
    sides.push([measured, values]);
  }
  for (let run = -warmUp; run < settings.runs; run++) {
    const begins = rotates ? run + warmUp : 0;
    for (let turn = 0; turn < sides.length; turn++) {
      const [measured, values] = sides[(begins + turn) % sides.length];
      const value = await measured();
      if (run >= 0) values.push(value);
    }
  }
  const figure = median(own);
  let reference: number | null = null;
  let referenceName = '';
  for (const key of Object.keys(references)) {
    const value = median(others.get(key) as number[]);
    if (reference === null || (better === 'lower' ? value < reference : value > reference)) {
      reference = value;
      referenceName = key;
    }
  }
  const figures: Record<string, unknown> = {};
  for (const [key, values] of others) figures[key] = rounded(median(values));
  const line: Line = {
    name,
    ours: rounded(figure),
    reference: reference === null ? null : rounded(reference),
    ratio: reference === null ? null : Number((figure / reference).toFixed(3)),
    unit,
    runs: settings.runs,
    spread: Number(spread(own).toFixed(3)),
    ...(reference === null
      ? {}
      : {
          comparedWith: referenceName,
          referenceSpread: Number(spread(others.get(referenceName) as number[]).toFixed(3)),
        }),
    ...figures,
    ...beforeCompiled(first.slice(0, settings.runs), firstOthers.slice(0, settings.runs)),
    ...(typeof extra === 'function' ? extra() : extra),
  };
  settings.report(line);
  return line;
}

/** What the first runs were, as many as count, if there were some that do not. */
function beforeCompiled(
  ours: readonly number[],
  others: readonly number[],
): Readonly<Record<string, unknown>> {
  if (ours.length === 0) return {};
  const first = median(ours);
  const ratio =
    others.length === 0 ? {} : { ratioBeforeCompiled: Number((first / median(others)).toFixed(3)) };
  return { beforeCompiled: rounded(first), ...ratio };
}

/** A bench that computes something wrong has measured nothing. */
export function verify(condition: boolean, what: string): void {
  if (!condition) throw new Error(`wrong result: ${what}`);
}
