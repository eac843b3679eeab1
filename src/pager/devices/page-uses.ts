/** How launches use pages together: disjoint runs, each used as much as any launch does. */
import type { NamedArgument } from './launch-arguments.js';

type Use = NamedArgument['use'];

export class PageUses {
  /** In order, disjoint. */
  private runs: NamedArgument[] = [];

  get all(): readonly NamedArgument[] {
    return this.runs;
  }

  overlaps(first: number, end: number): boolean {
    return this.runs.some((run) => run.first < end && first < endOf(run));
  }

  /** What the pages would be used for with these as well. */
  with(args: readonly NamedArgument[]): readonly NamedArgument[] {
    return args.reduce(withOne, this.runs);
  }

  add(args: readonly NamedArgument[]): void {
    this.runs = args.reduce(withOne, this.runs);
  }
}

function withOne(runs: NamedArgument[], added: NamedArgument): NamedArgument[] {
  const end = endOf(added);
  const found: NamedArgument[] = [];
  let at = added.first;
  const take = (from: NamedArgument, first: number, until: number, use: Use): void => {
    if (first < until) found.push({ ...from, first, count: until - first, use });
  };
  for (const run of runs) {
    const [from, until] = [Math.max(run.first, added.first), Math.min(endOf(run), end)];
    if (from >= until) {
      // What lies before the next run is the added one's alone.
      if (run.first >= end && at < end) {
        take(added, at, end, added.use);
        at = end;
      }
      found.push(run);
      continue;
    }
    take(run, run.first, from, run.use);
    take(added, at, from, added.use);
    take(run, from, until, together(run.use, added.use));
    take(run, until, endOf(run), run.use);
    at = until;
  }
  take(added, at, end, added.use);
  return found;
}

/** What was empty when the first launch began, and is written by a later one, is still that. */
function together(earlier: Use, later: Use): Use {
  if (earlier === 'in') return later === 'in' ? 'in' : 'inout';
  return earlier;
}

function endOf({ first, count }: NamedArgument): number {
  return first + count;
}
