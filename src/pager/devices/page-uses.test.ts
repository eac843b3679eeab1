import { describe, expect, it } from 'vitest';
import type { NamedArgument } from './launch-arguments.js';
import { PageUses } from './page-uses.js';

const argument = (
  first: number,
  end: number,
  use: NamedArgument['use'],
  name = 'x',
): NamedArgument => ({
  name,
  declared: use,
  first,
  count: end - first,
  use,
});
const shown = (args: readonly NamedArgument[]): string =>
  args.map(({ name, first, count, use }) => `${name} ${first}-${first + count} ${use}`).join(', ');

/** What launches use together that use this one after the other. */
function together(...args: readonly NamedArgument[]): string {
  const uses = new PageUses();
  for (const each of args) uses.add([each]);
  return shown(uses.all);
}

describe('pages that launches use together', () => {
  it('are used by each run as much as any launch does', () => {
    expect(together(argument(0, 4, 'in'), argument(0, 4, 'in'))).toBe('x 0-4 in');
    expect(together(argument(0, 4, 'in'), argument(0, 4, 'inout'))).toBe('x 0-4 inout');
    expect(together(argument(0, 4, 'inout'), argument(0, 4, 'in'))).toBe('x 0-4 inout');
  });

  it('stay empty before the first launch where it writes them from nothing, whatever comes after it', () => {
    expect(together(argument(0, 4, 'out'), argument(0, 4, 'in'))).toBe('x 0-4 out');
    expect(together(argument(0, 4, 'out'), argument(0, 4, 'inout'))).toBe('x 0-4 out');
  });

  it('are cut where they overlap in part', () => {
    expect(together(argument(2, 6, 'in', 'x'), argument(0, 4, 'inout', 'y'))).toBe(
      'y 0-2 inout, x 2-4 inout, x 4-6 in',
    );
    expect(together(argument(0, 4, 'in', 'x'), argument(2, 6, 'inout', 'y'))).toBe(
      'x 0-2 in, x 2-4 inout, y 4-6 inout',
    );
    expect(together(argument(2, 4, 'in', 'x'), argument(0, 6, 'inout', 'y'))).toBe(
      'y 0-2 inout, x 2-4 inout, y 4-6 inout',
    );
  });

  it('keep their order, with gaps between them filled', () => {
    const uses = new PageUses();
    uses.add([argument(8, 10, 'in', 'a'), argument(0, 2, 'in', 'b'), argument(4, 6, 'in', 'c')]);
    expect(shown(uses.all)).toBe('b 0-2 in, c 4-6 in, a 8-10 in');
    expect(shown(uses.with([argument(1, 12, 'in', 'd')]))).toBe(
      'b 0-1 in, b 1-2 in, d 2-4 in, c 4-6 in, d 6-8 in, a 8-10 in, d 10-12 in',
    );
    expect(shown(uses.all)).toBe('b 0-2 in, c 4-6 in, a 8-10 in');
  });

  it('overlap where a page is in both', () => {
    const uses = new PageUses();
    uses.add([argument(4, 6, 'in')]);
    expect([
      uses.overlaps(0, 4),
      uses.overlaps(0, 5),
      uses.overlaps(5, 9),
      uses.overlaps(6, 9),
    ]).toEqual([false, true, true, false]);
  });
});
