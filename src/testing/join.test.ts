import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

describe('the conformance suite', () => {
  it('is joined by a file of less than 20 lines', () => {
    const source = readFileSync(
      new URL('../../examples/driver/conformance.ts', import.meta.url),
      'utf8',
    );
    expect(source).toContain("from 'onemem/testing'");
    expect(source.split('\n').length).toBeLessThan(20);
  });
});
