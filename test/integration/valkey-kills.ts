/** Programs whose pages a server has, and that are killed: what they leave there goes by itself. */
import assert from 'node:assert/strict';
import { Program, until } from '../harness/processes.js';
import { note, runTests, sleep } from '../harness/suite.js';
import { longTestWithValkey, ValkeyServer } from '../harness/valkey-server.js';

/** test:long has more. */
const KILLS = Number(process.env.ONEMEM_KILLS ?? 2);
const LEASE_MS = 4000;

const IMMORTAL = `local found = 0
for _, key in ipairs(redis.call('KEYS', '*')) do if redis.call('PTTL', key) == -1 then found = found + 1 end end
return found`;

longTestWithValkey(
  'a program that is killed at any moment leaves nothing on its server that does not go when its time is over',
  async () => {
    const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 31));
    note(`ONEMEM_SEED=${seed}`);
    await using server = await ValkeyServer.start();
    let state = seed;
    for (let kill = 0; kill < KILLS; kill++) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const program = new Program('spilling-far', [server.url, String(LEASE_MS)]);
      await program.line('spilling');
      await sleep((state >>> 8) % 300);
      program.kill();
      assert.equal((await program.outcome).signal, 'SIGKILL');
      assert.equal(await server.ask('EVAL', IMMORTAL, 0), 0);
    }
    let left: unknown = -1;
    const ask = setInterval(async () => {
      left = await server.ask('DBSIZE');
    }, 50);
    await until('all values have gone', () => left === 0).finally(() => clearInterval(ask));
  },
  60 + KILLS * 5,
);

await runTests();
