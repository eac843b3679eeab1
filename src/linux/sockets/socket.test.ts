import { spawn } from 'node:child_process';
import { closeSync, fstatSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterEach, describe, expect, it } from 'vitest';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../base/constants.js';
import { createMemoryFile, mmap, munmap, PAGE_SIZE, view } from '../memory/memory.js';
import { Poller } from './poll.js';
import { createSocketPair, descriptorsOf, type Message, MessageSocket } from './socket.js';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

function createPair(maxBytes?: number): [MessageSocket, MessageSocket] {
  const [a, b] = createSocketPair();
  const pair: [MessageSocket, MessageSocket] = [
    new MessageSocket(a, maxBytes),
    new MessageSocket(b, maxBytes),
  ];
  for (const socket of pair) cleanups.push(() => socket.close());
  return pair;
}

function createFile(): number {
  const fd = createMemoryFile('test', PAGE_SIZE);
  cleanups.push(() => closeSync(fd));
  return fd;
}

function expectMessage(message: Message | 'closed' | null): Message {
  if (message === null || message === 'closed') throw new Error(`no message but ${message}`);
  for (const fd of descriptorsOf(message)) cleanups.push(() => closeSync(fd));
  return message;
}

describe('MessageSocket', () => {
  it('keeps the borders of messages, and tells none from the end', () => {
    const [a, b] = createPair();
    expect(b.receive()).toBeNull();
    a.send(Uint8Array.of(1, 2, 3));
    a.send(Uint8Array.of(4));
    expect(expectMessage(b.receive())).toEqual({ bytes: Uint8Array.of(1, 2, 3), fds: [] });
    expect(expectMessage(b.receive(true)).bytes).toEqual(Uint8Array.of(4));
    expect(b.receive()).toBeNull();
    a.close();
    expect(b.receive()).toBe('closed');
    expect(() => b.send(Uint8Array.of(1))).toThrowError(
      expect.objectContaining({ code: 'EPIPE', call: 'sendmsg' }),
    );
  });

  it('returns false when there is no room', () => {
    const [a, b] = createPair();
    const bytes = new Uint8Array(32 * 1024).fill(7);
    let sent = 0;
    while (a.send(bytes)) sent++;
    expect(sent).toBeGreaterThan(0);
    for (let i = 0; i < sent; i++) expect(expectMessage(b.receive()).bytes).toEqual(bytes);
    expect(b.receive()).toBeNull();
    expect(a.send(bytes)).toBe(true);
  });

  it('passes descriptors, in order and closed on exec', () => {
    const [a, b] = createPair();
    const files = Array.from({ length: 253 }, createFile);
    expect(a.send(Uint8Array.of(9), files)).toBe(true);
    const message = expectMessage(b.receive());
    const fds = descriptorsOf(message);
    expect(message.bytes).toEqual(Uint8Array.of(9));
    expect(fds.map((fd) => fstatSync(fd).ino)).toEqual(files.map((fd) => fstatSync(fd).ino));
    expect(new Set([...fds, ...files]).size).toBe(506);
  });

  it('refuses a message that is empty or too long', () => {
    const [a] = createPair(16);
    for (const [length, fds] of [
      [0, 0],
      [17, 0],
      [1, 254],
    ]) {
      expect(() => a.send(new Uint8Array(length), Array(fds).fill(0))).toThrowError(
        expect.objectContaining({ name: 'RangeError', code: 'MESSAGE_SIZE' }),
      );
    }
  });

  it('reports a message that was longer than expected, and leaks no descriptor', () => {
    const [a] = createPair(64);
    const [fdA, fdB] = createSocketPair();
    const sender = new MessageSocket(fdA, 64);
    const receiver = new MessageSocket(fdB, 8);
    cleanups.push(
      () => sender.close(),
      () => receiver.close(),
    );
    const next = createFile();
    sender.send(new Uint8Array(9), [a.fd]);
    expect(() => receiver.receive()).toThrowError(
      expect.objectContaining({ code: 'MESSAGE_TRUNCATED' }),
    );
    expect(createFile()).toBe(next + 1);
    expect(receiver.receive()).toBeNull();
  });

  it('exchanges memory with a child process', async () => {
    const [ours, theirs] = createSocketPair();
    const code = `
      const koffi = require(process.argv[1]);
      const library = koffi.load(null);
      const recvmsg = library.func('int64_t recvmsg(int fd, void *message, int flags)');
      const sendmsg = library.func('int64_t sendmsg(int fd, void *message, int flags)');
      const mmap = library.func('int64_t mmap(uint64_t a, uint64_t l, int p, int f, int fd, int64_t off)');
      const memfd_create = library.func('int memfd_create(const char *name, uint32_t flags)');
      const payload = Buffer.alloc(16);
      const control = Buffer.alloc(24);
      const vector = new BigUint64Array([koffi.address(payload), 16n]);
      const header = new BigUint64Array([0n, 0n, koffi.address(vector), 1n, koffi.address(control), 24n, 0n]);
      const length = recvmsg(3, header, 0);
      const bytes = new Uint8Array(koffi.view(mmap(0, ${PAGE_SIZE}, 3, 1, control.readInt32LE(16), 0), ${PAGE_SIZE}));
      bytes[1] = bytes[0] + length;
      const file = memfd_create('theirs', 0);
      require('node:fs').writeSync(file, 'from the child');
      payload.write('ok');
      vector[1] = 2n;
      control.writeBigUInt64LE(20n, 0); control.writeInt32LE(1, 8); control.writeInt32LE(1, 12); control.writeInt32LE(file, 16);
      header[5] = 24n;
      sendmsg(3, header, 0);`;
    const koffi = createRequire(import.meta.url).resolve('koffi');
    const child = spawn(process.execPath, ['-e', code, koffi], {
      stdio: ['ignore', 'inherit', 'inherit', theirs],
    });
    cleanups.push(() => child.kill('SIGKILL'));
    closeSync(theirs);
    const socket = new MessageSocket(ours);
    cleanups.push(() => socket.close());

    const file = createFile();
    const address = mmap(PAGE_SIZE, {
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_SHARED,
      fd: file,
    });
    cleanups.push(() => munmap(address, PAGE_SIZE));
    const memory = new Uint8Array(view(address, PAGE_SIZE));
    memory[0] = 40;
    socket.send(Uint8Array.of(1, 2), [file]);

    const poller = new Poller(1);
    poller.set(0, socket.fd);
    expect(poller.wait(10_000)).toBe(1);
    const message = expectMessage(socket.receive());
    expect(Buffer.from(message.bytes).toString()).toBe('ok');
    expect(memory[1]).toBe(42);
    const text = Buffer.alloc(14);
    readSync(descriptorsOf(message)[0], text, 0, 14, 0);
    expect(text.toString()).toBe('from the child');
    expect(poller.wait(10_000)).toBe(1);
    expect(socket.receive()).toBe('closed');
  });
});
