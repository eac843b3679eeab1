/** Ctrl-C ends a program in every state: with a kernel that never ends, and with a main thread that waits for a page. */
import assert from 'node:assert/strict';
import { goneWithin, Program } from '../harness/processes.js';
import { runTests, sleep, test } from '../harness/suite.js';

/** Starts the program and waits until it is where it is to be. */
async function start(...args: string[]): Promise<{ program: Program; devices: number[] }> {
  const program = new Program('interrupted', args);
  return { program, devices: [Number(await program.line('ready '))] };
}

for (const listener of [[], ['listener']]) {
  test(`one ends a program with a kernel that never ends${listener.length > 0 ? ', as the command' : ''}`, async () => {
    const { program, devices } = await start('kernel', ...listener);
    program.signal('SIGINT');
    const { code, signal, stderr } = await program.outcome;
    if (listener.length === 0) assert.equal(signal, 'SIGINT');
    else {
      assert.equal(code, 130);
      assert.match(stderr, /interrupted by SIGINT; nothing was written/);
    }
    assert.deepEqual(await goneWithin(5000, { pids: devices, inodes: [] }), []);
  });
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`the second ${name} ends a command whose main thread waits for a page`, async () => {
    const { program, devices } = await start('fault', 'listener');
    // The main thread waits a moment after it has said that it is about to.
    await sleep(300);
    program.signal(name);
    const early = await Promise.race([program.outcome, sleep(300).then(() => null)]);
    assert.equal(early, null, 'the first one was enough, so that nothing was tested');
    program.signal(name);
    const { signal, code } = await program.outcome;
    assert.deepEqual([signal, code], [name, null]);
    assert.deepEqual(await goneWithin(5000, { pids: devices, inodes: [] }), []);
  });
}

await runTests();
