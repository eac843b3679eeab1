/**
 * An HTTP server of slices of a file: range requests (RFC 9110) for an array that the device has
 * changed, and the file has not. Only pages that a client asks for are read from the file or
 * brought back from the device; the stream has them there when the socket's system call wants them.
 *
 *   node .build/examples/apps/slice-server.js FILE [PORT]     serves a file
 *   node .build/examples/apps/slice-server.js                 serves one that it makes, and checks what it serves
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { kernel, type ManagedArray, openSpace, u8 } from 'onemem';

const invert = kernel({ bytes: u8.inout }, ({ bytes }, { begin, end }) => {
  for (let i = begin; i < end; i++) bytes[i] = ~bytes[i];
});

/**
 * What a Range header asks for: a part, 'all' where there is none that we know, or 'nothing' that
 * the array has.
 */
function partOf(
  header: string | undefined,
  size: number,
): { begin: number; end: number } | 'all' | 'nothing' {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  // Several ranges at once, other units and nonsense may be ignored.
  if (first === undefined || (first === '' && last === '')) return 'all';
  const begin = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size : Math.min(Number(last) + 1, size);
  if (first !== '' && last !== '' && Number(first) > Number(last)) return 'all';
  return begin < end ? { begin, end } : 'nothing';
}

function serve(array: ManagedArray<Uint8Array>): Server {
  return createServer(async ({ method, headers }, response) => {
    const size = array.length;
    response.setHeader('Accept-Ranges', 'bytes');
    if (method !== 'GET' && method !== 'HEAD') {
      response.writeHead(405, { Allow: 'GET, HEAD' }).end();
      return;
    }
    const part = method === 'GET' ? partOf(headers.range, size) : 'all';
    if (part === 'nothing') {
      response.writeHead(416, { 'Content-Range': `bytes */${size}` }).end();
      return;
    }
    const { begin, end } = part === 'all' ? { begin: 0, end: size } : part;
    response.setHeader('Content-Type', 'application/octet-stream');
    response.setHeader('Content-Length', end - begin);
    if (part === 'all') response.writeHead(200);
    else response.writeHead(206, { 'Content-Range': `bytes ${begin}-${end - 1}/${size}` });
    if (method === 'HEAD') response.end();
    // A client that goes away ends its own answer, and nothing else.
    else
      await pipeline(array.createReadStream({ begin, end }), response).catch(() =>
        response.destroy(),
      );
  });
}

function listen(server: Server, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    );
  });
}

function fetchPart(
  url: string,
  range: string | null,
  method = 'GET',
): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const headers = range === null ? {} : { range };
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const body: Buffer[] = [];
      response.on('data', (piece: Buffer) => body.push(piece));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(body) }),
      );
    });
    sent.once('error', reject).end();
  });
}

/** Asks for parts of every kind, and compares each byte with what it must be. */
async function check(url: string, expected: Buffer): Promise<void> {
  const size = expected.length;
  const cases: [range: string | null, status: number, begin: number, end: number][] = [
    ['bytes=0-99', 206, 0, 100],
    ['bytes=4095-4096', 206, 4095, 4097],
    ['bytes=3000000-3299999', 206, 3_000_000, 3_300_000],
    [`bytes=${size - 5}-`, 206, size - 5, size],
    ['bytes=-7', 206, size - 7, size],
    [`bytes=5000000-${size + 1000}`, 206, 5_000_000, size],
    [`bytes=-${size + 1}`, 206, 0, size],
    [`bytes=${size}-`, 416, 0, 0],
    ['bytes=-0', 416, 0, 0],
    ['bytes=99999999999999999999-', 416, 0, 0],
    ['bytes=9-3', 200, 0, size],
    ['bytes=0-1,5-6', 200, 0, size],
    ['bytes=a-b', 200, 0, size],
    ['rows=1-2', 200, 0, size],
    [null, 200, 0, size],
  ];
  await Promise.all(
    cases.map(async ([range, status, begin, end]) => {
      const answer = await fetchPart(url, range);
      const right = answer.status === status && answer.body.equals(expected.subarray(begin, end));
      if (!right)
        throw new Error(
          `${range}: ${answer.status} with ${answer.body.length} bytes, wrong or not as many`,
        );
    }),
  );
  for (const [method, status] of [
    ['HEAD', 200],
    ['POST', 405],
  ] as const) {
    const answer = await fetchPart(url, null, method);
    if (answer.status !== status || answer.body.length > 0)
      throw new Error(`${method}: ${answer.status}`);
  }
  console.log(`${cases.length + 2} requests were answered rightly`);
}

const [file, port] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'onemem-slices-'));
try {
  const bytes = Buffer.from(
    Uint32Array.from({ length: 1_500_000 }, (_, i) => Math.imul(i, 2_654_435_761)).buffer,
  );
  const path = file ?? join(folder, 'numbers.bin');
  if (file === undefined) writeFileSync(path, bytes);
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
  const array = space.fileArray(Uint8Array, path, { writable: true });
  await space.devices[0].run(invert, { bytes: array }, { size: array.length });
  const server = serve(array);
  const url = await listen(server, Number(port ?? 0));
  try {
    if (file === undefined) {
      console.log(`${(array.length / 2 ** 20).toFixed(1)} MiB that a device of 4 MiB has inverted`);
      await check(url, Buffer.from(bytes.map((byte) => ~byte)));
    } else {
      console.log(`${array.length} bytes at ${url}; Ctrl-C ends it`);
      await new Promise((resolve) => process.once('SIGINT', resolve));
    }
  } finally {
    // Before the space is closed: no client asks for its array any more.
    server.close();
    server.closeAllConnections();
  }
} finally {
  rmSync(folder, { recursive: true });
}
