/** Modules that are asked before rights to elements of an array are given. */

/** What a guard is asked. */
export interface GuardQuestion<D = unknown> {
  /** Name of the array. */
  readonly array: string;
  /** Who would get the right: 'host', a device's name, or that of an attached process. */
  readonly processor: string;
  /** Elements [begin, end): whole pages where a thread touches one. */
  readonly begin: number;
  readonly end: number;
  /** Whether the right is to write, which is also one to read. */
  readonly write: boolean;
  /** `data` of the options. */
  readonly data: D;
}

/** 'note' allows, and puts the question on the list. */
export type GuardAnswer = 'allow' | 'refuse' | 'note';

/**
 * The export of a guard's module. It runs in the manager's thread, which serves nothing else
 * meanwhile: it answers at once, from tables of its own, and uses no managed array.
 */
export type GuardFunction<D = unknown> = (question: GuardQuestion<D>) => GuardAnswer;

/** A question that the guard answered with 'note'. */
export type GuardNote = Omit<GuardQuestion, 'array' | 'data'>;

/** What a guard was asked, and how it answered. */
export interface GuardReport {
  readonly allowed: number;
  readonly refused: number;
  readonly noted: number;
  /** The last 1,000 that were noted, the oldest first. */
  readonly notes: readonly GuardNote[];
  /** What the guard did last instead of an answer; null: it has always answered. */
  readonly problem: string | null;
}

export interface GuardSource {
  readonly url: string;
  readonly exportName: string;
  readonly data: unknown;
}
