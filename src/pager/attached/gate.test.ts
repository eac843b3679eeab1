import { describe, expect, it } from 'vitest';
import { ALLOWED_REQUESTS, forged, random } from '../../../test/harness/forged-requests.js';
import { ProcessGate } from './gate.js';
import { shapesOf } from './shapes.js';

const PAGES = 1024;
/** Two arrays, 1 and 2, of so many pages each. */
const layout = {
  bytes: 2 ** 30,
  rangeAt: (page: number) => (page < 2 * PAGES ? 1 + Math.floor(page / PAGES) : undefined),
};

function gateOf(ranges: ReadonlySet<number> | null): ProcessGate {
  return new ProcessGate({ token: '', rights: 'write', ranges }, layout, 1);
}

/** Where a value says which memory it means, and what it would say of the other array. */
const OTHER: Readonly<Record<string, (value: number) => number>> = {
  range: () => 2,
  firstPage: (page) => page + PAGES,
  offset: (bytes) => bytes + PAGES * 4096,
};

/** The same request about the other array, changed in one place each; and where that is. */
function aboutAnother(name: string, value: unknown): [string, unknown][] {
  const places: [string, unknown][] = [];
  const visit = (at: unknown, path: string, put: (changed: unknown) => unknown): void => {
    if (typeof at !== 'object' || at === null || ArrayBuffer.isView(at)) return;
    for (const [key, inner] of Object.entries(at)) {
      const where = Array.isArray(at) ? path : `${path}.${key}`;
      const replace = (changed: unknown): unknown => {
        const copy = structuredClone(at) as Record<string, unknown>;
        copy[key] = changed;
        return put(copy);
      };
      if (Object.hasOwn(OTHER, key)) places.push([where, replace(OTHER[key](inner as number))]);
      visit(inner, where, replace);
    }
  };
  visit(value, name, (changed) => changed);
  return places;
}

describe('the gate before requests of other processes', () => {
  it('knows all that they may ask, and forged requests are made of all of it', () => {
    const names = new Set(ALLOWED_REQUESTS.map(([name]) => name));
    expect([...names].sort()).toEqual(Object.keys(shapesOf(layout, null, 1)).sort());
    const gate = gateOf(null);
    for (const [name, value] of ALLOWED_REQUESTS)
      if (name !== 'watch') expect(gate.pass({ id: 1, name, value }, null).name).toBe(name);
  });

  it('lets nothing pass that names an array which the handle does not allow', () => {
    const gate = gateOf(new Set([1]));
    const passed = ALLOWED_REQUESTS.flatMap(([name, value]) =>
      aboutAnother(name, value).filter(([, changed]) => {
        try {
          gate.pass({ id: 1, name, value: changed }, null);
          return true;
        } catch {
          return false;
        }
      }),
    );
    // The pages of this one are only compared with those that the array has.
    expect(passed.map(([where]) => where)).toEqual(['attachArray.firstPage']);
  });

  it('answers whatever is asked, or refuses it with a code', () => {
    const gate = gateOf(new Set([1]));
    const next = random(1);
    for (let count = 0; count < 3000; count++) {
      try {
        gate.pass(forged(next), null);
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/) });
      }
    }
  });
});
