/** Work that is done in slices: the caller may do something else between two of them. */
export type Slices<T> = Generator<undefined, T>;

/** Does all of it at once. */
export function finished<T>(work: Slices<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

export interface SliceLimits {
  readonly slices: number;
  /** Milliseconds that the slices take together, and what tells them. */
  readonly ms: number;
  now(): number;
}

/** The same work, given up when it takes too long. */
export function* limited<T, Other>(
  work: Slices<T>,
  { slices, ms, now }: SliceLimits,
  instead: () => Other,
): Slices<T | Other> {
  let spent = 0;
  for (let slice = 0; slice < slices && spent < ms; slice++) {
    const begun = now();
    const { done, value } = work.next();
    spent += now() - begun;
    if (done === true) return value;
    yield;
  }
  return instead();
}
