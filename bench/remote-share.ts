/**
 * A block of an array that two spaces share goes from one to the other, by a Valkey server on this
 * machine: one writes an element of which the other one has a copy, and that reads it. Both spaces
 * are this program's, each with a manager, a member and a connection of its own, so that neither
 * waits for another process to get a turn. Beside it: a SET and a GET of as many bytes, by two
 * connections.
 */
import { openSpace } from '../src/index.js';
import { ValkeyConnection } from '../src/valkey/connection.js';
import { ValkeyServer, valkeyPrograms } from '../test/harness/valkey-server.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const ROUNDS = 200;
/** Runs until the compiler is through with the way of a block. */
const COMPILED_AFTER = 15;

async function run(settings: Settings): Promise<void> {
  const programs = valkeyPrograms();
  if (typeof programs === 'string') {
    const none = { ours: 0, reference: null, ratio: null, unit: '', runs: 0, spread: 0 };
    settings.report({ name: 'remote-share', ...none, skipped: programs });
    return;
  }
  await using server = await ValkeyServer.start();
  await using one = await openSpace();
  await using two = await openSpace();
  const writer = await ValkeyConnection.open(server.url);
  const reader = await ValkeyConnection.open(server.url);
  for (const blockBytes of [4096, 65_536]) {
    const options = { name: `block-${blockBytes}`, on: { url: server.url }, blockBytes };
    const ours = await one.sharedArray(Int32Array, blockBytes / 4, options);
    const theirs = await two.sharedArray(Int32Array, blockBytes / 4, options);
    const bytes = new Uint8Array(blockBytes);
    const into = new Uint8Array(blockBytes);
    await compare(settings, {
      name: `remote-share/${blockBytes / 1024}KiB`,
      unit: 'us',
      better: 'lower',
      ours: () => {
        const started = performance.now();
        for (let round = 1; round <= ROUNDS; round++) {
          ours.data[0] = round;
          verify(theirs.data[0] === round, 'what was written last');
        }
        return ((performance.now() - started) * 1000) / ROUNDS;
      },
      references: {
        'SET and GET': async () => {
          const started = performance.now();
          for (let round = 1; round <= ROUNDS; round++) {
            await writer.call(['SET', 'block', bytes]);
            await reader.call(['GET', 'block'], [into]);
          }
          return ((performance.now() - started) * 1000) / ROUNDS;
        },
      },
      extra: { blockBytes },
      compiledAfter: COMPILED_AFTER,
    });
  }
  for (const connection of [writer, reader]) connection.close();
}

export const remoteShare: Bench = {
  name: 'remote-share',
  what: "from one space's write of a shared block to another one's read, by a Valkey server on this machine, beside a SET and a GET",
  run,
};
