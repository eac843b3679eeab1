/** The live picture of a space: its server, what it refuses, and what it tells. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { attachSpace, type ManagedArray, openSpace } from '../../src/index.js';
import type { Frame } from '../../src/live/page.js';
import type { PointsFrame } from '../../src/live/points.js';
import { sharedSpace } from '../harness/spaces.js';
import { longTest, runTests, test } from '../harness/suite.js';

interface Elements {
  readonly begins: readonly number[];
  readonly xs: Float32Array | null;
  readonly ys: Float32Array;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** As it is said: no client of ours tidies up the path. */
function ask(
  url: string,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path, method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => {
        text += piece;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function frameAt(url: string, since = ''): Promise<Frame> {
  const path = `${new URL(url).pathname}picture?since=${encodeURIComponent(since)}`;
  return JSON.parse((await ask(url, path)).text) as Frame;
}

async function elementsAt(url: string, set: number): Promise<Elements> {
  const { text } = await ask(url, `${new URL(url).pathname}elements?set=${set}`);
  const { begins, xs, ys } = JSON.parse(text) as PointsFrame;
  return { begins, xs: xs === null ? null : floats(xs), ys: floats(ys) };
}

const floats = (text: string) =>
  new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);

const code = (name: string) => (error: unknown) => (error as { code: string }).code === name;
const cellsOf = (frame: Frame): Buffer => Buffer.from(frame.places, 'base64');

test('a browser gets a page that loads nothing, and says so to the browser', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const { status, headers, text } = await ask(server.url, new URL(server.url).pathname);
  assert.equal(status, 200);
  assert.match(text, /^<!doctype html>/);
  assert.doesNotMatch(text, /https?:\/\//);
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /^default-src 'none'; style-src 'sha256-\S+'; script-src 'sha256-\S+'; /);
  assert.match(policy, /connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors/);
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  const moved = await ask(server.url, new URL(server.url).pathname.slice(0, -1));
  assert.deepEqual([moved.status, moved.headers.location], [308, new URL(server.url).pathname]);
});

test('frames go on from each other, and show what moved where', async () => {
  await using space = await openSpace();
  await using server = await space.serve();
  const x = space.array(Float64Array, 2 ** 19, { name: 'x' });
  x.data.fill(1);
  const before = await frameAt(server.url);
  assert.deepEqual([before.fromColumn, before.rows, before.arrays[0].name], [0, 2, 'x']);
  assert.equal(cellsOf(before)[before.columns - 1], 0);
  const y = space.array(Float64Array, 10, { name: 'y' });
  const middle = await frameAt(server.url, before.version);
  assert.deepEqual([middle.fromColumn, middle.rows, middle.arrays[1].name], [0, 3, 'y']);
  assert.equal(cellsOf(middle).at(-1), 255);
  y.data[0] = 1;
  let after = await frameAt(server.url, middle.version);
  // Columns may have become half as many meanwhile.
  while (after.fromColumn === 0) after = await frameAt(server.url, after.version);
  assert.equal(cellsOf(after).length, 3 * (after.columns - after.fromColumn));
  assert.equal(cellsOf(after).at(-1), 0);
  const { text } = await ask(server.url, `${new URL(server.url).pathname}moves?row=2&ms=0`);
  const [move] = JSON.parse(text) as { array: string; text: string }[];
  assert.equal(move.array, 'y');
  assert.match(
    move.text,
    /^began as zeros in host \(4 KiB\), for a write of y\[0\] by host \(near: with its neighbourhood\)$/,
  );
});

test('elements of arrays are told as points, and those of no other array', async () => {
  await using space = await openSpace();
  const x = space.array(Float32Array, 5, { name: 'x' });
  const big = space.array(BigInt64Array, 100_000, { name: 'big' });
  space.array(Uint8Array, 8, { name: 'secret' });
  x.data.set([1, 2.5, -3, NaN, 1e9]);
  for (let i = 0; i < big.length; i++) big.data[i] = BigInt(i);
  await using server = await space.serve({ points: [{ name: 'both', x, y: x }, { y: big }] });
  const { pathname } = new URL(server.url);
  const sets = JSON.parse((await ask(server.url, `${pathname}points`)).text) as object[];
  assert.deepEqual(sets, [
    { name: 'both', x: 'x', y: 'x', length: 5 },
    { name: 'big', x: null, y: 'big', length: 100_000 },
  ]);
  const [both, pieces] = [await elementsAt(server.url, 0), await elementsAt(server.url, 1)];
  assert.deepEqual([both.xs, both.ys], [x.data, x.data]);
  assert.deepEqual([pieces.begins[0], pieces.begins.at(-1)], [0, 100_000 - 128]);
  const indices = pieces.begins.flatMap((begin) =>
    Array.from({ length: 128 }, (_, i) => begin + i),
  );
  assert.deepEqual(pieces.ys, Float32Array.from(indices));
  for (const set of ['2', '-1', '0.5', 'x', 'length'])
    assert.equal((await ask(server.url, `${pathname}elements?set=${set}`)).status, 404);
});

test('elements that the host may not read are an answer, and end nothing', async () => {
  await using space = await openSpace();
  const x = space.array(Float32Array, 1024, { name: 'x' });
  await x.protect('none');
  await using server = await space.serve({ points: [{ y: x }] });
  const { pathname } = new URL(server.url);
  const { status, text } = await ask(server.url, `${pathname}elements?set=0`);
  assert.equal(status, 503);
  assert.match(text, /array x/);
  await assert.rejects(() => space.serve({ points: [{ y: {} as ManagedArray }] }), code('ARRAY'));
  await assert.rejects(() => space.serve({ points: {} as [] }), code('OPTIONS'));
  await assert.rejects(() => space.serve({ points: [{ y: x, z: x } as { y: ManagedArray }] }), {
    code: 'OPTIONS',
  });
});

test('the metrics stand behind the token', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const { pathname } = new URL(server.url);
  const { status, headers, text } = await ask(server.url, `${pathname}metrics`);
  assert.equal(status, 200);
  assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(text, /^# TYPE onemem_faults_total counter$/m);
  assert.equal((await ask(server.url, '/metrics')).status, 404);
});

test('who does not have the token gets nothing', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const { pathname } = new URL(server.url);
  const token = pathname.slice(1, -1);
  const paths = [
    '/',
    '//',
    '/picture',
    `/${token.slice(0, -1)}/`,
    `/${token}x/picture`,
    `/${token.toLowerCase()}/`,
    `/x/${token}/`,
    `/${token}//`,
    `/${token}/index.html`,
    `/${token}/../${token}/picture`,
    `/${token}/../../../../etc/passwd`,
    `/${token}/%2e%2e/%2e%2e/etc/passwd`,
    `/${token}/..%2f..%2fetc%2fpasswd`,
    `/${token}/picture/`,
    `http://example.com${pathname}picture`,
    '*',
    `/?${token}`,
  ];
  for (const path of paths) {
    const { status, text } = await ask(server.url, path);
    assert.deepEqual([path, status], [path, 404]);
    assert.match(text, /^There is no such page/);
    assert.ok(!text.includes(token));
  }
});

test('a name of another site that leads here is refused, and so are its pages', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const { pathname, port } = new URL(server.url);
  const named = async (host: string): Promise<number> =>
    (await ask(server.url, pathname, { host })).status;
  for (const host of [
    `evil.example:${port}`,
    'evil.example',
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example`,
    '10.0.0.1',
  ])
    assert.deepEqual([host, await named(host)], [host, 421]);
  // A tunnel has another port.
  for (const host of [`127.0.0.1:${port}`, 'localhost:1234', `[::1]:${port}`, 'LOCALHOST'])
    assert.deepEqual([host, await named(host)], [host, 200]);
  const from = async (origin: string): Promise<number> =>
    (await ask(server.url, `${pathname}picture`, { origin })).status;
  assert.equal(await from('http://evil.example'), 403);
  assert.equal(await from('null'), 403);
  assert.equal(await from(`http://127.0.0.1:${port}`), 200);
});

test('nothing can be sent', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const { pathname } = new URL(server.url);
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
    const { status, headers } = await ask(server.url, pathname, {}, method);
    assert.deepEqual([method, status, headers.allow], [method, 405, 'GET, HEAD']);
  }
  const head = await ask(server.url, pathname, {}, 'HEAD');
  assert.deepEqual([head.status, head.text], [200, '']);
});

longTest('it answers while the program computes', async () => {
  await using space = await sharedSpace();
  await using server = await space.serve();
  const program = `
    const began = performance.now();
    const answer = await fetch(${JSON.stringify(`${server.url}picture`)});
    console.log(answer.status, (await answer.json()).columns > 0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child, 'spawn');
  // The event loop of this thread stands still until the child has ended.
  const state = (): string =>
    execFileSync('ps', ['-o', 'state=', '-p', String(child.pid)], { encoding: 'utf8' }).trim();
  const limit = performance.now() + 15_000;
  while (state() !== 'Z' && performance.now() < limit);
  assert.equal(state(), 'Z');
  await once(child, 'close');
  assert.equal(said, '200 true\n');
});

longTest('its end, and that of the space, end the connections', async () => {
  await using space = await openSpace();
  const one = await space.serve();
  const two = await space.serve();
  assert.notEqual(one.url, two.url);
  await frameAt(one.url);
  await one.close();
  await one.close();
  await assert.rejects(() => frameAt(one.url), code('ECONNREFUSED'));
  await frameAt(two.url);
  await space.close();
  await assert.rejects(() => frameAt(two.url), code('ECONNREFUSED'));
  await two.close();
  await assert.rejects(() => space.serve(), code('SPACE_CLOSED'));
});

test('another thread that attached serves it as well', async () => {
  await using space = await sharedSpace();
  await using server = await attachSpace(space.handle).serve();
  assert.equal((await frameAt(server.url)).processors[0], 'host');
});

test('a port that is in use, or is none, is refused', async () => {
  await using space = await sharedSpace();
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await assert.rejects(() => space.serve({ port }), {
    code: 'SERVE',
    message: `cannot serve the picture: port ${port} is in use; name another one, or none for any that is free`,
  });
  other.close();
  for (const wrong of [0, -1, 1.5, 65_536, '80', null])
    await assert.rejects(() => space.serve({ port: wrong as number }), code('PORT'));
  await assert.rejects(() => space.serve({ ports: 1 } as object), code('OPTIONS'));
});

const library = fileURLToPath(new URL('../../src/index.js', import.meta.url));

function program(text: string, env: Record<string, string> = {}): string {
  const source = `import { openSpace } from ${JSON.stringify(library)}; ${text}`;
  return execFileSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50_000,
  });
}

longTest('it does not keep the program alive, also while a browser looks', () => {
  const text = `
    const space = await openSpace();
    const { url } = await space.serve();
    const { get } = await import('node:http');
    get(url, (response) => {
      response.on('data', () => undefined);
      response.socket.unref();
      console.log(response.statusCode);
    });
    await new Promise((resolve) => setTimeout(resolve, 300));`;
  assert.equal(program(text), '200\n');
});

longTest('ONEMEM_UI serves the spaces of a program, and says where', () => {
  const text = `
    const heard = [];
    process.stderr.write = (line) => heard.push(line);
    const space = await openSpace();
    const [, url] = /^onemem: the live picture of this space is at (http\\S+)\\n$/.exec(heard[0]);
    console.log((await fetch(url)).status);
    await space.close();`;
  assert.equal(program(text, { ONEMEM_UI: '1' }), '200\n');
});

test('ONEMEM_UI with a port that is none is a warning', () => {
  const text = `
    process.on('warning', ({ code, message }) => console.log(code, message));
    await (await openSpace()).close();`;
  assert.equal(
    program(text, { ONEMEM_UI: 'yes' }),
    'ONEMEM_UI ONEMEM_UI=yes: port is NaN; it must be from 1 to 65535\n',
  );
});

await runTests();
