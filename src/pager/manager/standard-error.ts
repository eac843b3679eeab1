/**
 * What the manager and the sentinel have to say on standard error. Writing there may take for ever:
 * a pipe is full, a terminal stopped, or the lock of a pipe is kept by a thread that sits in a
 * fault while it writes. So a thread of its own writes, and no thread waits for it longer than is
 * said here; what it cannot get rid of is kept up to a limit, then dropped and counted.
 *
 * The manager posts what it has to say to the sentinel, which has that thread. Two words of the
 * control memory count what was posted and what was written or dropped.
 */
import { writeSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../linux/threads/threads.js';
import { Control } from '../protocol/control.js';
import { count } from '../protocol/output.js';
import { beginStart, endStart, type Start, startsEnded } from '../protocol/starting.js';

/** What the thread is started with. */
export interface StandardErrorData {
  /** One word: 1 when nothing more is to be written. */
  readonly stop: Int32Array;
  readonly start: Start;
}

/** Characters that wait to be written, beyond which messages are dropped. */
const LIMIT = 64 * 1024;

/** The sentinel's end of the thread that writes. */
export class StandardError {
  private thread: Worker | null = null;
  private readonly stop = new Int32Array(new SharedArrayBuffer(4));
  private readonly waiting: { readonly text: string; readonly written: () => void }[] = [];
  private characters = 0;
  private dropped = 0;
  private failed = false;

  constructor(
    private readonly control: Int32Array,
    private readonly startWriter: (data: StandardErrorData) => Worker = start,
    private readonly directly: (text: string) => void = writeDirectly,
  ) {}

  /** Starts the thread, for something that may have to be said soon. */
  prepare(): void {
    if (this.thread !== null || this.failed) return;
    const start = beginStart(this.control.buffer as SharedArrayBuffer);
    try {
      this.thread = this.startWriter({ stop: this.stop, start });
    } catch {
      endStart(start);
      this.fail();
      return;
    }
    this.thread.on('message', () => this.next());
    this.thread.on('error', () => this.fail());
    this.thread.on('exit', () => {
      endStart(start);
      this.fail();
    });
    this.thread.unref();
  }

  /** Has a message written that was counted. `written` is called when it was, or was dropped. */
  write(text: string, written: () => void = () => undefined): void {
    if (this.characters + text.length > LIMIT) {
      this.dropped++;
      this.done(written);
      return;
    }
    this.characters += text.length;
    this.waiting.push({ text, written });
    this.prepare();
    if (this.failed) this.fail();
    else this.thread?.postMessage(text);
  }

  /** Nothing more will be said. Writes what is left, for so many milliseconds at most. */
  end(limitMs: number): void {
    // The end of this thread stops the one that writes, which must be up by then.
    void startsEnded(this.control);
    const stop = (): void => {
      Atomics.store(this.stop, 0, 1);
      Atomics.notify(this.stop, 0);
    };
    if (this.waiting.length === 0) stop();
    else {
      const timer = setTimeout(stop, limitMs);
      const [last] = this.waiting.slice(-1);
      const { written } = last;
      this.waiting[this.waiting.length - 1] = {
        ...last,
        written: () => {
          written();
          clearTimeout(timer);
          stop();
        },
      };
    }
  }

  private next(): void {
    const entry = this.waiting.shift();
    if (entry === undefined) return;
    this.characters -= entry.text.length;
    this.done(entry.written);
    if (this.dropped === 0 || this.waiting.length > 0) return;
    const text = `onemem: ${this.dropped} messages were dropped, since standard error was full\n`;
    this.dropped = 0;
    count(this.control);
    this.write(text);
  }

  /** The thread lacks descriptors or memory: what has to be said is said here. */
  private fail(): void {
    this.failed = true;
    this.thread = null;
    const waiting = this.waiting.splice(0);
    this.characters = 0;
    for (const { text, written } of waiting) {
      this.directly(text);
      this.done(written);
    }
  }

  private done(written: () => void): void {
    Atomics.add(this.control, Control.MessagesWritten, 1);
    Atomics.notify(this.control, Control.MessagesWritten);
    written();
  }
}

function start(workerData: StandardErrorData): Worker {
  return startThread(new URL('./standard-error-thread.cjs', import.meta.url), {
    workerData,
    name: 'onemem stderr',
  });
}

function writeDirectly(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Standard error may have no reader; what must be done is done all the same.
  }
}
