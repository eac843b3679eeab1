/** Tests that run one after the other and are counted. */

const tests: { name: string; run: () => Promise<void> }[] = [];

export function test(name: string, run: () => Promise<void>): void {
  tests.push({ name, run });
}

/** Runs those whose name holds `wanted`. */
export async function runTests(wanted: string): Promise<void> {
  let passed = 0;
  let failed = 0;
  for (const { name, run } of tests.filter((each) => each.name.includes(wanted))) {
    const started = performance.now();
    try {
      await run();
      passed++;
      console.log(`ok   ${name} (${Math.round(performance.now() - started)} ms)`);
    } catch (error) {
      failed++;
      console.log(
        `FAIL ${name}\n${(error instanceof Error ? (error.stack ?? error.message) : String(error)).replace(/^/gm, '     ')}`,
      );
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
