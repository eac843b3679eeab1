/**
 * Clusters of real servers that speak TLS and want a password: pages of a space, and arrays of
 * several programs.
 */
import assert from 'node:assert/strict';
import slotOf from 'cluster-key-slot';
import { openSpace } from '../../src/index.js';
import { keysOf } from '../../src/sharing/steps.js';
import { type Certificate, certificateFor } from '../harness/certificates.js';
import { failsWith, longTest, note, runTests, sameData } from '../harness/suite.js';
import { type ClusterSettings, ValkeyCluster } from '../harness/valkey-cluster.js';
import { valkeyPrograms } from '../harness/valkey-server.js';

const MIB = 2 ** 20;
const LONG_MS = 30_000;
const PASSWORD = 'sesame & co';
/** That servers say they are reached by. */
const BY_NAME = {
  'cluster-announce-hostname': 'localhost',
  'cluster-preferred-endpoint-type': 'hostname',
};

function withTlsCluster(
  name: string,
  certified: string,
  settings: ClusterSettings,
  run: (cluster: ValkeyCluster, tls: { ca: Buffer }) => Promise<void>,
): void {
  const unlessMissing = async (): Promise<void> => {
    const programs = valkeyPrograms();
    const tls: Certificate | null = typeof programs === 'string' ? null : certificateFor(certified);
    if (tls === null)
      return note(`SKIPPED: ${typeof programs === 'string' ? programs : 'there is no openssl'}`);
    await using cluster = await ValkeyCluster.start(false, {
      tls,
      password: PASSWORD,
      ...settings,
    });
    await run(cluster, { ca: tls.ca });
  };
  longTest(name, unlessMissing, 180);
}

withTlsCluster(
  'pages of a space go to all servers of a cluster by TLS, with the password',
  'IP:127.0.0.1',
  {},
  async (cluster, tls) => {
    const { url } = cluster.primaries[1];
    const behind = { kind: 'valkey', url, bytes: '256MiB', timeoutMs: LONG_MS, tls } as const;
    await using space = await openSpace({ hostMemory: '32MiB', storage: false, behind });
    const x = space.array(Int32Array, 16 * MIB);
    for (let i = 0; i < x.length; i += 1024) x.data[i] = i + 1;
    const counts = await Promise.all(cluster.primaries.map((each) => each.ask('DBSIZE')));
    assert.ok(counts.filter((count) => Number(count) > 0).length > 1, `${counts}`);
    for (let i = 0; i < x.length; i += 1024) assert.equal(x.data[i], i + 1);
  },
);

withTlsCluster(
  'an array that programs share is found by TLS where its slot is, also when that moves',
  'IP:127.0.0.1',
  {},
  async (cluster, tls) => {
    await using space = await openSpace({ hostMemory: '64MiB' });
    await using other = await openSpace({ hostMemory: '64MiB' });
    const key = keysOf('numbers').leases;
    const from = cluster.ownerOf(key);
    const to = cluster.primaries[(cluster.primaries.indexOf(from) + 1) % 3];
    // Another one than has the array.
    const on = { url: to.url, leaseMs: LONG_MS, timeoutMs: LONG_MS, tls };
    const x = await space.sharedArray(Int32Array, 40_000, { name: 'numbers', on });
    const y = await other.sharedArray(Int32Array, 40_000, { name: 'numbers', on });
    x.data.fill(7);
    sameData(y.data, () => 7);
    await (await cluster.migrate(slotOf(key), from, to))();
    y.data.fill(8);
    sameData(x.data, () => 8);
    assert.equal(await from.ask('DBSIZE'), 0);
  },
);

withTlsCluster(
  'servers that say their names are reached and believed by these',
  'DNS:localhost',
  { lines: BY_NAME },
  async (cluster, tls) => {
    await using space = await openSpace({ hostMemory: '64MiB' });
    const from = cluster.ownerOf(keysOf('numbers').leases);
    const first = cluster.primaries[(cluster.primaries.indexOf(from) + 1) % 3];
    const on = { url: first.urlAt('localhost'), leaseMs: LONG_MS, timeoutMs: LONG_MS, tls };
    const x = await space.sharedArray(Int32Array, 40_000, { name: 'numbers', on });
    x.data.fill(7);
    await x.fence();
    assert.ok(Number(await from.ask('DBSIZE')) > 0);
  },
);

withTlsCluster(
  'a certificate that does not name what servers say that they are reached by is refused with the remedy, and may be named',
  'DNS:localhost',
  {},
  async (cluster, tls) => {
    const url = cluster.primaries[0].urlAt('localhost');
    const open = async (servername: object): Promise<void> => {
      const behind = {
        kind: 'valkey',
        url,
        bytes: '64MiB',
        timeoutMs: LONG_MS,
        tls: { ...tls, ...servername },
      } as const;
      await (await openSpace({ hostMemory: '64MiB', behind })).close();
    };
    const { message } = await failsWith('BEHIND', () => open({}));
    assert.match(
      message,
      /names valkeys:\/\/127\.0\.0\.1:\d+ as one of its cluster.*its certificate is for DNS:localhost.*tls\.servername/,
    );
    await open({ servername: 'localhost' });
  },
);

withTlsCluster(
  'servers that announce a port without TLS are refused with the remedy',
  'IP:127.0.0.1',
  { lines: { 'tls-cluster': 'no' } },
  async (cluster, tls) => {
    const behind = {
      kind: 'valkey',
      url: cluster.primaries[0].url,
      bytes: '64MiB',
      timeoutMs: 2000,
      tls,
    } as const;
    const { message } = await failsWith('BEHIND', () => openSpace({ hostMemory: '64MiB', behind }));
    assert.match(message, /tls-cluster yes/);
  },
);

await runTests(120);
