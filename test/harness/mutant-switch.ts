/**
 * Says which mutant is at work in the code that `compileMutants` makes. Other code does not ask.
 */
let chosen = '';
let reached = false;

/**
 * Whether this mutant is at work: each place that one changes asks.
 *
 * @public
 */
export function mutant(name: string): boolean {
  if (name !== chosen) return false;
  reached = true;
  return true;
}

/** From now on this mutant is at work; '': none. */
export function chooseMutant(name: string): void {
  chosen = name;
  reached = false;
}

/** Whether anything has come by the place of the mutant that is at work. */
export function mutantReached(): boolean {
  return reached;
}
