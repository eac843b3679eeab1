/**
 * A program whose threads use a space ends as Node has it end: with its own code, in time, and not
 * in silence.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../harness/processes.js';
import { LONG, longTest, runTests, test } from '../harness/suite.js';

/**
 * From the moment that the program begins to end until its process is gone, on a machine that does
 * other things, too.
 */
const LIMIT_MS = 5000;

interface End {
  readonly code: number;
  /** Errors that standard error must tell of; null: it must be empty. */
  readonly says: RegExp | null;
  /** And of these not. */
  readonly not?: RegExp;
}

const ways: Record<string, End> = {
  throw: { code: 1, says: /^Error: thrown by the program\n +at .*[\s\S]*code: 'SOME_CODE'/m },
  'throw a string': { code: 1, says: /a string/ },
  reject: { code: 1, says: /^Error: rejected by the program\n +at /m },
  'throw at once': { code: 1, says: /^RangeError: thrown by the module\n +at /m },
  handled: { code: 3, says: null },
  'handler that throws': { code: 7, says: /^Error: thrown by a handler\n +at /m },
  'listener that throws': { code: 5, says: /^Error: thrown by an exit listener\n +at /m },
  'listener of the same tick that throws': {
    code: 5,
    says: /^Error: thrown by an exit listener\n +at /m,
  },
  'throw, and a listener that throws': {
    code: 1,
    says: /^Error: thrown by the program\n +at /m,
    not: /listener/,
  },
  reallyExit: { code: 5, says: null },
};

for (const [way, { code, says, not }] of Object.entries(ways)) {
  for (const thread of ['none', 'idle', 'fault']) {
    // A thread in a fault is what is most in the way of an end.
    const tested = thread === 'fault' && ['throw', 'reallyExit'].includes(way) ? test : longTest;
    tested(`${way}, ${thread === 'none' ? 'no thread' : `a thread: ${thread}`}`, async () => {
      const program = new Program('ending', [way, thread]);
      const began = Number(await program.line('ending '));
      const outcome = await program.outcome;
      assert.equal(outcome.signal, null, outcome.stderr);
      assert.equal(outcome.code, code, outcome.stderr);
      if (says === null) assert.equal(outcome.stderr, '');
      else assert.match(outcome.stderr, says);
      if (not !== undefined) assert.doesNotMatch(outcome.stderr, not);
      assert.ok(
        outcome.endedAt - began <= LIMIT_MS,
        `it took ${outcome.endedAt - began} ms to end`,
      );
    });
  }
}

longTest(
  'a program that has closed its space ends by itself, also while the engine compiles',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'onemem-ending-'));
    try {
      // Where nothing is done about it some two of five stand still.
      for (let run = 0; run < (LONG ? 12 : 5); run++) {
        const { code, stdout } = await new Program('ending-while-compiled', [folder]).outcome;
        assert.deepEqual([code, stdout], [0, 'closed\n']);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  90,
);

await runTests();
