/**
 * A worker thread touches registered memory and this thread serves its faults. A thread that waits
 * in a fault can neither time out nor be terminated, so every wait here has a limit, and closing
 * the userfaultfd afterwards lets a thread that still waits go on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import {
  EAGAIN,
  EBADF,
  EEXIST,
  EFAULT,
  ENOENT,
  MADV_DONTNEED,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
  UFFD_EVENT_PAGEFAULT,
  UFFD_EVENT_REMOVE,
  UFFD_FEATURES,
  UFFD_PAGEFAULT_FLAG_MINOR,
  UFFD_PAGEFAULT_FLAG_WP,
  UFFD_PAGEFAULT_FLAG_WRITE,
  UFFDIO_REGISTER_MODE_MINOR,
  UFFDIO_REGISTER_MODE_MISSING,
  UFFDIO_REGISTER_MODE_WP,
} from '../base/constants.js';
import { errno, libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';
import { pidfdGetfd, pidfdOpen, threadId } from '../processes/process.js';
import { Poller } from '../sockets/poll.js';
import {
  createMemoryFile,
  fillMemory,
  madvise,
  mmap,
  munmap,
  PAGE_SIZE,
  punchHole,
  view,
} from './memory.js';
import { featureNames, Userfaultfd } from './userfaultfd.js';

const PAGES = 16;
const LENGTH = PAGES * PAGE_SIZE;
const ALL_MODES =
  UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;
const koffiPath = createRequire(import.meta.url).resolve('koffi');
const LIMIT_MS = 5000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Memory {
  readonly fd: number;
  /** What the worker touches; registered by the tests. */
  readonly address: number;
  /** The same file, never registered. */
  readonly alias: number;
  readonly aliasBytes: Uint8Array;
}

function createMemory(): Memory {
  const fd = createMemoryFile('test', LENGTH);
  const options = { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd };
  const address = mmap(LENGTH, options);
  const alias = mmap(LENGTH, options);
  cleanups.push(() => {
    munmap(address, LENGTH);
    munmap(alias, LENGTH);
    closeSync(fd);
  });
  return { fd, address, alias, aliasBytes: new Uint8Array(view(alias, LENGTH)) };
}

function openUserfaultfd(options: Parameters<typeof Userfaultfd.open>[0] = {}): Userfaultfd {
  const userfaultfd = Userfaultfd.open(options);
  cleanups.push(() => userfaultfd.close());
  return userfaultfd;
}

/** A thread that reads or writes a byte when told to, by native calls alone. */
class Toucher {
  private readonly worker = new Worker(
    `const { workerData, parentPort } = require('node:worker_threads');
     const koffi = require(workerData);
     const library = koffi.load(null);
     const gettid = library.func('int64_t syscall(int64_t number)');
     parentPort.on('message', ({ address, value }) => {
       const bytes = new Uint8Array(koffi.view(address, 1));
       if (value !== undefined) bytes[0] = value;
       parentPort.postMessage({ value: bytes[0], thread: gettid(process.arch === 'x64' ? 186 : 178) });
     });`,
    { eval: true, workerData: koffiPath },
  );

  constructor() {
    cleanups.push(() => this.worker.terminate());
  }

  private ask(message: {
    address: number;
    value?: number;
  }): Promise<{ value: number; thread: number }> {
    return new Promise((resolve, reject) => {
      this.worker.once('message', resolve);
      this.worker.once('error', reject);
      this.worker.postMessage(message);
    });
  }

  read(address: number): Promise<{ value: number; thread: number }> {
    return this.ask({ address });
  }

  write(address: number, value: number): Promise<{ value: number; thread: number }> {
    return this.ask({ address, value });
  }
}

/** Waits for messages without blocking for ever; returns how many there are. */
function waitForFault(userfaultfd: Userfaultfd): number {
  const poller = new Poller(1);
  poller.set(0, userfaultfd.fd);
  const deadline = performance.now() + LIMIT_MS;
  while (performance.now() < deadline) {
    if (poller.wait(100) > 0) {
      const count = userfaultfd.readMessages();
      if (count > 0) return count;
    }
  }
  throw new Error('no fault came');
}

describe('opening', () => {
  it('says which way it took and what the kernel offers', () => {
    const userfaultfd = openUserfaultfd();
    expect(['system-call', 'device', 'user-mode']).toContain(userfaultfd.via);
    expect(featureNames(userfaultfd.available)).toContain('MISSING_SHMEM');
    expect(openUserfaultfd({ userModeOnly: true }).via).toBe('user-mode');
  });

  it('does not block when there is no message', () => {
    expect(openUserfaultfd().readMessages()).toBe(0);
  });

  it('names a feature that the kernel lacks', () => {
    expect(() => Userfaultfd.open({ features: 2 ** 40 })).toThrowError(
      expect.objectContaining({ name: 'SystemCallError', code: 'EINVAL' }),
    );
  });

  it('answers EBADF once closed, instead of reaching another file', () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.close();
    userfaultfd.close();
    expect(userfaultfd.wake(memory.address, LENGTH)).toBe(EBADF);
    expect(() => userfaultfd.readMessages()).toThrowError(
      expect.objectContaining({ code: 'EBADF' }),
    );
  });

  it('names the call and the range that it could not register', () => {
    const userfaultfd = openUserfaultfd();
    expect(() => userfaultfd.register(PAGE_SIZE, PAGE_SIZE, ALL_MODES)).toThrowError(
      /ioctl\(.*UFFDIO_REGISTER.*address=0x1000, length=4096.*EINVAL/,
    );
  });
});

describe('answers to a fault', () => {
  it('fills a missing page by copy, and reports address, flags and thread', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd({ features: UFFD_FEATURES.THREAD_ID });
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const source = new NativeBuffer(PAGE_SIZE);
    source.bytes.fill(42);
    const touched = memory.address + 3 * PAGE_SIZE + 5;
    const reply = new Toucher().read(touched);
    expect(waitForFault(userfaultfd)).toBe(1);
    expect(userfaultfd.eventOf(0)).toBe(UFFD_EVENT_PAGEFAULT);
    expect(userfaultfd.addressOf(0)).toBe(memory.address + 3 * PAGE_SIZE);
    expect(userfaultfd.flagsOf(0)).toBe(0);
    const thread = userfaultfd.threadOf(0);
    expect(userfaultfd.copy(memory.address + 3 * PAGE_SIZE, source.address, PAGE_SIZE, false)).toBe(
      0,
    );
    expect(userfaultfd.progress).toBe(PAGE_SIZE);
    const result = await reply;
    expect(result.value).toBe(42);
    expect(result.thread).toBe(thread);
    expect(thread).not.toBe(threadId());
    expect(memory.aliasBytes[4 * PAGE_SIZE - 1]).toBe(42);
  });

  it('fills a missing page with zeros, for a write', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, ALL_MODES);
    const reply = new Toucher().write(memory.address, 9);
    waitForFault(userfaultfd);
    expect(userfaultfd.flagsOf(0)).toBe(UFFD_PAGEFAULT_FLAG_WRITE);
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(0);
    expect((await reply).value).toBe(9);
    expect([...memory.aliasBytes.subarray(0, 3)]).toEqual([9, 0, 0]);
  });

  it('maps a page of the file on a minor fault', async () => {
    const memory = createMemory();
    memory.aliasBytes[PAGE_SIZE] = 7;
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, ALL_MODES);
    const reply = new Toucher().read(memory.address + PAGE_SIZE);
    waitForFault(userfaultfd);
    expect(userfaultfd.flagsOf(0) & UFFD_PAGEFAULT_FLAG_MINOR).toBe(UFFD_PAGEFAULT_FLAG_MINOR);
    expect(userfaultfd.continue_(memory.address + PAGE_SIZE, PAGE_SIZE, false)).toBe(0);
    expect((await reply).value).toBe(7);
  });

  it('maps write-protected, so that the read passes and the write faults again', async () => {
    const memory = createMemory();
    memory.aliasBytes.fill(1);
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, ALL_MODES);
    expect(userfaultfd.continue_(memory.address, LENGTH, true)).toBe(0);
    expect(userfaultfd.progress).toBe(LENGTH);
    const toucher = new Toucher();
    expect((await toucher.read(memory.address)).value).toBe(1);
    const reply = toucher.write(memory.address + 2 * PAGE_SIZE, 2);
    waitForFault(userfaultfd);
    expect(userfaultfd.flagsOf(0)).toBe(UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP);
    expect(userfaultfd.addressOf(0)).toBe(memory.address + 2 * PAGE_SIZE);
    expect(memory.aliasBytes[2 * PAGE_SIZE]).toBe(1);
    expect(userfaultfd.writeProtect(memory.address + 2 * PAGE_SIZE, PAGE_SIZE, false)).toBe(0);
    await reply;
    expect(memory.aliasBytes[2 * PAGE_SIZE]).toBe(2);
    // Protection set on a mapped page brings the fault back.
    expect(userfaultfd.writeProtect(memory.address + 2 * PAGE_SIZE, PAGE_SIZE, true)).toBe(0);
    const again = toucher.write(memory.address + 2 * PAGE_SIZE, 3);
    waitForFault(userfaultfd);
    expect(memory.aliasBytes[2 * PAGE_SIZE]).toBe(2);
    userfaultfd.writeProtect(memory.address, LENGTH, false);
    await again;
    expect(memory.aliasBytes[2 * PAGE_SIZE]).toBe(3);
  });

  it('wakes a thread whose page came by another way', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const reply = new Toucher().read(memory.address);
    waitForFault(userfaultfd);
    // Without minor faults, what is in the file is there; but the kernel does not wake the thread
    // that waits.
    memory.aliasBytes[0] = 5;
    expect(
      await Promise.race([reply, new Promise((resolve) => setTimeout(resolve, 50, 'waiting'))]),
    ).toBe('waiting');
    const source = new NativeBuffer(PAGE_SIZE);
    expect(userfaultfd.copy(memory.address, source.address, PAGE_SIZE, false)).toBe(EEXIST);
    expect(userfaultfd.wake(memory.address, PAGE_SIZE)).toBe(0);
    expect((await reply).value).toBe(5);
  });

  it('lets a waiting thread go on when the registration or the descriptor ends', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const toucher = new Toucher();
    const first = toucher.read(memory.address);
    waitForFault(userfaultfd);
    userfaultfd.unregister(memory.address, PAGE_SIZE);
    expect((await first).value).toBe(0);
    const second = toucher.read(memory.address + PAGE_SIZE);
    waitForFault(userfaultfd);
    userfaultfd.close();
    expect((await second).value).toBe(0);
  });

  it('reads many messages at once and keeps them apart', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const touchers = [new Toucher(), new Toucher(), new Toucher()];
    const replies = touchers.map((toucher, i) => toucher.read(memory.address + i * PAGE_SIZE));
    const seen: number[] = [];
    while (seen.length < 3) {
      const count = waitForFault(userfaultfd);
      for (let i = 0; i < count; i++) seen.push(userfaultfd.addressOf(i));
    }
    expect(seen.sort()).toEqual([0, 1, 2].map((i) => memory.address + i * PAGE_SIZE));
    expect(userfaultfd.zeropage(memory.address, LENGTH)).toBe(0);
    expect((await Promise.all(replies)).map((reply) => reply.value)).toEqual([0, 0, 0]);
  });
});

describe('ranges', () => {
  it('stops at a page that is there, with what was done before it', () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, ALL_MODES);
    const source = new NativeBuffer(LENGTH);
    source.bytes.fill(8);
    memory.aliasBytes[5 * PAGE_SIZE] = 1;
    expect(userfaultfd.copy(memory.address, source.address, LENGTH, false)).toBe(EEXIST);
    expect(userfaultfd.progress).toBe(5 * PAGE_SIZE);
    expect(memory.aliasBytes[5 * PAGE_SIZE - 1]).toBe(8);
    expect(memory.aliasBytes[5 * PAGE_SIZE]).toBe(1);

    // Page 5 is in the file but not mapped: continue_ takes it, and then meets the hole after it.
    expect(userfaultfd.continue_(memory.address + 5 * PAGE_SIZE, 4 * PAGE_SIZE, false)).toBe(
      EFAULT,
    );
    expect(userfaultfd.progress).toBe(PAGE_SIZE);
    expect(userfaultfd.continue_(memory.address + 5 * PAGE_SIZE, PAGE_SIZE, false)).toBe(EEXIST);
    expect(userfaultfd.progress).toBe(0);
    expect(userfaultfd.zeropage(memory.address + 6 * PAGE_SIZE, 2 * PAGE_SIZE)).toBe(0);
    expect(new Uint8Array(view(memory.address, LENGTH))[5 * PAGE_SIZE]).toBe(1);
  });

  it('refuses what is not registered', () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd();
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(ENOENT);
    expect(userfaultfd.writeProtect(memory.address, PAGE_SIZE, true)).toBe(ENOENT);
  });

  it('gets a hole punched into the file as a missing page again', async () => {
    const memory = createMemory();
    memory.aliasBytes.fill(1);
    const userfaultfd = openUserfaultfd();
    userfaultfd.register(memory.address, LENGTH, ALL_MODES);
    expect(userfaultfd.continue_(memory.address, LENGTH, false)).toBe(0);
    expect(punchHole(memory.fd, 0, PAGE_SIZE)).toBe(0);
    const reply = new Toucher().read(memory.address);
    waitForFault(userfaultfd);
    expect(userfaultfd.flagsOf(0) & UFFD_PAGEFAULT_FLAG_MINOR).toBe(0);
    userfaultfd.zeropage(memory.address, PAGE_SIZE);
    expect((await reply).value).toBe(0);
  });

  it('tells of a removal by another thread, and refuses to fill until that was read', async () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd({ features: UFFD_FEATURES.EVENT_REMOVE });
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const worker = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
       const madvise = require(workerData.koffiPath).load(null).func('int madvise(uint64_t a, uint64_t l, int advice)');
       parentPort.postMessage(madvise(workerData.address, workerData.length, 4));`,
      { eval: true, workerData: { koffiPath, address: memory.address, length: 2 * PAGE_SIZE } },
    );
    cleanups.push(() => worker.terminate());
    const done = new Promise((resolve) => worker.once('message', resolve));
    const poller = new Poller(1);
    poller.set(0, userfaultfd.fd);
    expect(poller.wait(LIMIT_MS)).toBe(1);
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(EAGAIN);
    expect(userfaultfd.readMessages()).toBe(1);
    expect(userfaultfd.eventOf(0)).toBe(UFFD_EVENT_REMOVE);
    expect([userfaultfd.wordOf(0, 0), userfaultfd.wordOf(0, 1)]).toEqual([
      memory.address,
      memory.address + 2 * PAGE_SIZE,
    ]);
    expect(await done).toBe(0);
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(0);
  });
});

describe('faults of the kernel', () => {
  it('makes a system call fail when only faults of user code are served', () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd({ userModeOnly: true });
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    const sink = openSync('/proc/self/comm', 'r');
    cleanups.push(() => closeSync(sink));
    expect(libc.read(sink, memory.address, 8)).toBe(-1);
    expect(errno()).toBe(EFAULT);
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(0);
    expect(libc.read(sink, memory.address, 8)).toBeGreaterThan(0);
  });
});

/**
 * A process that maps descriptor 3, registers it, prints where and by which descriptor, and reads a
 * byte for each line.
 */
const CHILD = `
const koffi = require(process.argv[1]);
const library = koffi.load(null);
const mmap = library.func('int64_t mmap(uint64_t a, uint64_t l, int p, int f, int fd, int64_t off)');
const syscall = library.func('int64_t syscall(int64_t number, int64_t flags)');
const ioctl = library.func('int ioctl(int fd, uint64_t request, void *argument)');
const read = library.func('int64_t read(int fd, uint64_t address, uint64_t length)');
const length = ${LENGTH};
const address = mmap(0, length, 3, 1, 3, 0);
const fd = syscall(process.arch === 'x64' ? 323 : 282, 0o2004000 | 1);
const api = new BigUint64Array([0xaan, 0n, 0n]);
ioctl(fd, 0xc018aa3f, api);
if (ioctl(fd, 0xc020aa00, new BigUint64Array([BigInt(address), BigInt(length), 7n, 0n])) !== 0) process.exit(2);
const print = (object) => require('node:fs').writeSync(1, JSON.stringify(object) + '\\n');
print({ fd, address });
process.stdin.on('data', (data) => {
  const [verb, offset] = data.toString().trim().split(' ');
  const at = address + Number(offset);
  if (verb === 'load') print({ value: new Uint8Array(koffi.view(at, 1))[0] });
  else print({ result: read(require('node:fs').openSync('/proc/self/comm'), at, 1), errno: koffi.errno() });
});
process.stdin.on('end', () => process.exit(0));
`;

function startChild(fd: number): {
  child: ChildProcess;
  line: () => Promise<Record<string, number>>;
} {
  const child = spawn(process.execPath, ['-e', CHILD, koffiPath], {
    stdio: ['pipe', 'pipe', 'inherit', fd],
  });
  // Killing works even in a fault, unlike anything that the child could do itself.
  cleanups.push(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let rest = '';
  child.stdout?.on('data', (data: Buffer) => {
    rest += data.toString();
    const parts = rest.split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const next = waiting.shift();
      if (next === undefined) lines.push(part);
      else next(part);
    }
  });
  const line = async (): Promise<Record<string, number>> => {
    const text = lines.shift() ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
    return JSON.parse(text) as Record<string, number>;
  };
  return { child, line };
}

describe('another process', () => {
  it('is served through its own descriptor, and dies by SIGBUS on a poisoned page', {
    timeout: 20_000,
  }, async () => {
    const memory = createMemory();
    const { child, line } = startChild(memory.fd);
    const hello = await line();
    const { fd = -1, address = -1 } = hello;
    const pidfd = pidfdOpen(child.pid ?? -1);
    cleanups.push(() => closeSync(pidfd));
    const userfaultfd = Userfaultfd.fromFd(pidfdGetfd(pidfd, fd));
    cleanups.push(() => userfaultfd.close());
    expect(userfaultfd.via).toBe('received');

    child.stdin?.write(`load ${PAGE_SIZE}\n`);
    waitForFault(userfaultfd);
    expect(userfaultfd.addressOf(0)).toBe(address + PAGE_SIZE);
    fillMemory(memory.alias + PAGE_SIZE, 77, PAGE_SIZE);
    expect(userfaultfd.continue_(address + PAGE_SIZE, PAGE_SIZE, false)).toBe(0);
    expect(await line()).toEqual({ value: 77 });

    const poisoned = userfaultfd.poison(address + 2 * PAGE_SIZE, PAGE_SIZE);
    if (poisoned !== 0) return; // Kernels before 6.6.
    expect(userfaultfd.poison(address + PAGE_SIZE, PAGE_SIZE)).toBe(EEXIST);
    child.stdin?.write(`call ${2 * PAGE_SIZE}\n`);
    expect(await line()).toEqual({ result: -1, errno: EFAULT });
    const exit = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    child.stdin?.write(`load ${2 * PAGE_SIZE}\n`);
    expect(await exit).toBe('SIGBUS');
  });
});

describe('poison', () => {
  /** Whether a system call can write into a page: that finds poison without ending the process. */
  function canWriteInto(address: number): boolean {
    const source = openSync('/proc/self/comm', 'r');
    const result = libc.read(source, address, 1);
    const number = result < 0 ? errno() : 0;
    closeSync(source);
    expect([0, EFAULT]).toContain(number);
    return result === 1;
  }

  it('is replaced by an answer, survives a punched hole, and goes by MADV_DONTNEED', () => {
    const memory = createMemory();
    const userfaultfd = openUserfaultfd({ userModeOnly: true });
    userfaultfd.register(memory.address, LENGTH, UFFDIO_REGISTER_MODE_MISSING);
    if (userfaultfd.poison(memory.address, 4 * PAGE_SIZE) !== 0) return; // Kernels before 6.6.
    expect(canWriteInto(memory.address)).toBe(false);

    // Poison is a mark in the page table where a page could be: filling the range fills it too.
    expect(userfaultfd.zeropage(memory.address, PAGE_SIZE)).toBe(0);
    expect(canWriteInto(memory.address)).toBe(true);
    memory.aliasBytes[PAGE_SIZE] = 7;
    expect(userfaultfd.continue_(memory.address + PAGE_SIZE, PAGE_SIZE, false)).toBe(0);
    expect(canWriteInto(memory.address + PAGE_SIZE)).toBe(true);

    userfaultfd.unregister(memory.address, LENGTH);
    expect(punchHole(memory.fd, 2 * PAGE_SIZE, PAGE_SIZE)).toBe(0);
    expect(canWriteInto(memory.address + 2 * PAGE_SIZE)).toBe(false);
    madvise(memory.address + 2 * PAGE_SIZE, PAGE_SIZE, MADV_DONTNEED);
    expect(canWriteInto(memory.address + 2 * PAGE_SIZE)).toBe(true);
    expect(canWriteInto(memory.address + 3 * PAGE_SIZE)).toBe(false);
  });
});
