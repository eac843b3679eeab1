/**
 * Ctrl-C ends a program in every state: with a kernel that never ends, and with a main thread that
 * waits for a page.
 */
import assert from 'node:assert/strict';
import { goneWithin, handlesSignal, isInFault, Program, until } from '../harness/processes.js';
import { runTests, variantTest } from '../harness/suite.js';

/** Starts the program and waits until it is where it is to be. */
async function start(...args: string[]): Promise<{ program: Program; devices: number[] }> {
  const program = new Program('interrupted', args);
  return { program, devices: [Number(await program.line('ready '))] };
}

for (const listener of [[], ['listener']]) {
  variantTest(
    `one ends a program with a kernel that never ends${listener.length > 0 ? ', as the command' : ''}`,
    async () => {
      const { program, devices } = await start('kernel', ...listener);
      program.signal('SIGINT');
      const { code, signal, stderr } = await program.outcome;
      if (listener.length === 0) assert.equal(signal, 'SIGINT');
      else {
        assert.equal(code, 130);
        assert.match(stderr, /interrupted by SIGINT; nothing was written/);
      }
      assert.deepEqual(
        await goneWithin(5000, { session: program.pid, pids: devices, inodes: [] }),
        [],
      );
    },
  );
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  variantTest(`the second ${name} ends a command whose main thread waits for a page`, async () => {
    const { program, devices } = await start('fault', 'listener');
    await until('the main thread waits for a page', () => isInFault(program.pid));
    assert.ok(handlesSignal(program.pid, name));
    program.signal(name);
    await until('the first signal has been taken', () => !handlesSignal(program.pid, name));
    // Its listener would have to run in the main thread, which goes on to wait.
    await until('the main thread waits again', () => isInFault(program.pid));
    program.signal(name);
    const { signal, code } = await program.outcome;
    assert.deepEqual([signal, code], [name, null]);
    assert.deepEqual(
      await goneWithin(5000, { session: program.pid, pids: devices, inodes: [] }),
      [],
    );
  });
}

await runTests();
