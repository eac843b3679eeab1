import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IntrusiveList } from './intrusive-list.js';

function entriesOf(list: IntrusiveList): number[] {
  const entries: number[] = [];
  for (let at = list.head; at !== -1; at = list.after(at)) entries.push(at);
  return entries;
}

describe('IntrusiveList', () => {
  it('keeps the order in which entries were appended last, past its first length, too', () => {
    const step = fc.record({
      append: fc.boolean(),
      entry: fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 300 })),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const list = new IntrusiveList();
        let model: number[] = [];
        for (const { append, entry } of steps) {
          model = model.filter((other) => other !== entry);
          if (append) {
            list.append(entry);
            model.push(entry);
          } else list.remove(entry);
          expect(list.has(entry)).toBe(append);
        }
        expect(entriesOf(list)).toEqual(model);
        expect([list.size, list.head, list.tail]).toEqual([
          model.length,
          model[0] ?? -1,
          model.at(-1) ?? -1,
        ]);
      }),
    );
  });

  it('does not mind the removal of what it has never seen', () => {
    const list = new IntrusiveList();
    list.append(3);
    list.remove(100_000);
    list.remove(4);
    expect(entriesOf(list)).toEqual([3]);
  });
});
