import { defineConfig } from 'vitest/config';

// Unit tests run from the TypeScript sources: they are for modules that need no worker and no built
// file. Whatever needs the built program (workers, child processes of ours) lives under test/ and
// runs from .build/.
export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    testTimeout: 20_000,
    // A process for each file takes longer than what most files test; none leaves anything behind
    // in its modules.
    isolate: false,
  },
});
