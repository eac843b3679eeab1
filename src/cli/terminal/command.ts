/** A command of `onemem`, as its module exports it. */
export interface Command {
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. */
  readonly main: (args: readonly string[]) => Promise<number> | number;
}
