/**
 * Node.js fills a table, NumPy sorts it, Node.js serves it: one memory, and nothing is sent from one
 * to the other. Python 3 with NumPy runs sort_table.py.
 *
 *   node .build/examples/python/sort.js
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openSpace } from 'onemem';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const LENGTH = 500_000;
const bytesOf = ({ buffer, byteOffset, byteLength }: Float64Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

await using space = await openSpace();
const table = space.array(Float64Array, LENGTH, { name: 'table' });
for (let i = 0; i < LENGTH; i++) table.data[i] = Math.imul(i, 2_654_435_761) / 7;
const sorted = table.data.slice().sort();

const PYTHONPATH = `${ROOT}python:${process.env.PYTHONPATH ?? ''}`;
const env = { ...process.env, PYTHONPATH, ONEMEM_SPACE: space.share() };
await promisify(execFile)('python3', [`${ROOT}examples/python/sort_table.py`], { env });

const server = createServer((_, response) => response.end(bytesOf(table.data))).listen(0);
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const served = await (await fetch(`http://127.0.0.1:${port}`)).arrayBuffer();
server.close();
if (!bytesOf(sorted).equals(Buffer.from(served)))
  throw new Error('the table that was served is not sorted');
console.log(`${LENGTH} numbers that NumPy has sorted were served`);
