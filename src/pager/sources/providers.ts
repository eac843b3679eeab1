/**
 * Arrays that modules of the user's fill. Each has a thread of its own, which calls the module's
 * function and puts what it gave into staging memory; the manager copies that to where it belongs,
 * so that no code of the user's ever writes the memory of a node. Parts that are wanted meanwhile
 * stand in a line, those that a thread waits for first.
 *
 * A part whose function threw, refused, or gave something else than the bytes that were asked for
 * is asked for again at the next access. A provider that exceeded its time limit, or whose thread
 * ended, is asked no more: every later part of it fails at once.
 */
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  type Worker,
} from 'node:worker_threads';
import { HOST, PAGE_BYTES, PAGES_PER_TRANSFER, Status } from '../../core/basics/types.js';
import { fillMemory, writeMemory } from '../../linux/memory/memory.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import type { ManagerContext } from '../core/context.js';
import { Control } from '../protocol/control.js';
import type {
  FromProvider,
  ProvidedArrayFacts,
  ProviderFailure,
  ProviderSource,
  ProviderThreadData,
  ToProvider,
} from '../protocol/providers.js';
import { type PoolUser, PoolWatch } from './pool-watch.js';

/** Parts that one function works on at once: enough for some that wait for a network. */
const PLACES = 4;
const PLACE_BYTES = PAGES_PER_TRANSFER * PAGE_BYTES;
/** How long a module may take to load. */
const LOADING_MS = 30_000;
/** How long a thread that is to end may take to do so by itself. */
const GRACE_MS = 200;
/** How long a close waits for threads in faults, before it lets them go on itself. */
const CLOSE_MS = 1000;
/** How long the manager sleeps at most while a thread has something to do. */
const SHORT_SLEEP_MS = 10;
/** Turns of the event loop, to see threads end and print: while they work, and at rest. */
const BUSY_TURN_MS = 10;
const IDLE_TURN_MS = 200;

interface Part {
  readonly token: number;
  readonly page: number;
  readonly count: number;
  readonly target: number;
  readonly byteLength: number;
  handedIn: number;
  /** When its call was seen to have begun. */
  begun: number;
}

/** What went wrong last with a provider. */
interface Failure extends ProviderFailure {
  page: number;
  /** Counts failures of all providers, so that the latest of several can be told. */
  order: number;
}

interface Provider {
  readonly firstPage: number;
  readonly pages: number;
  readonly source: ProviderSource;
  readonly array: ProvidedArrayFacts;
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly staged: Uint8Array;
  /** As the thread has them: a word for each place, and one that counts calls that have ended. */
  readonly marks: Int32Array;
  /** Parts that the thread has, by their places. */
  readonly places: (Part | null)[];
  readonly urgent: Part[];
  readonly others: Part[];
  /** The kernel's number of its thread; 0 until the module has been loaded. */
  thread: number;
  startedAt: number;
  answeredAt: number;
  onReady: ((failure: ProviderFailure | null) => void) | null;
  failure: Failure | null;
  broken: ProviderFailure | null;
  /** Another provider's page that its thread faulted on, or -1, and ended calls then. */
  waitsFor: number;
  endedThen: number;
  /** It is to end: when it was told, or Infinity. */
  endingSince: number;
  terminated: boolean;
  readonly poolUser: Calls;
}

/** What is known of a provider's calls where they may wait for the pool. */
class Calls implements PoolUser {
  requests: number | null = null;

  constructor(readonly provider: () => Provider) {}

  get calls(): number {
    return this.begun.length;
  }

  get youngestSince(): number {
    return Math.max(...this.begun);
  }

  ask(): void {
    this.requests = null;
    this.provider().port.postMessage('pool' satisfies ToProvider);
  }

  /** Of calls under way, when they were seen to have begun. */
  private get begun(): number[] {
    const parts = this.provider().places.filter(
      (part): part is Part => part !== null && part.begun > 0,
    );
    return parts
      .filter(({ handedIn }) => handedIn !== Number.POSITIVE_INFINITY)
      .map(({ begun }) => begun);
  }
}

interface Answer {
  readonly provider: Provider;
  readonly place: number;
  readonly part: Part;
  readonly failure: ProviderFailure | null;
}

export class Providers {
  private readonly providers: Provider[] = [];
  /** Every thread that has not ended, those of freed arrays among them. */
  private readonly threads = new Map<Provider, Promise<void>>();
  /** Parts whose function is through, to be copied one by one. */
  private readonly answers: Answer[] = [];
  private failures = 0;
  private lastTurn = 0;
  private readonly pool: PoolWatch<Calls>;
  private closing: { readonly since: number; done: (() => void) | null } | null = null;

  constructor(
    private readonly context: ManagerContext,
    /** Threads that run the program's JavaScript. */
    program: { has(thread: number): boolean },
  ) {
    const own = (thread: number): boolean =>
      this.providers.some((provider) => provider.thread === thread);
    this.pool = new PoolWatch(
      context.manager.pages,
      (page) => this.find(page)?.poolUser ?? null,
      (thread) => program.has(thread) || own(thread),
      context.now,
    );
  }

  /** Loads a new range's module; `ready`: it may be asked, or why it never will. */
  start(
    source: ProviderSource,
    range: {
      readonly firstPage: number;
      readonly pages: number;
      readonly bytes: number;
      readonly name: string;
    },
    ready: (failure: ProviderFailure | null) => void,
  ): void {
    if (this.closing !== null) {
      ready({ refused: false, message: 'was not loaded, since the space is being closed' });
      return;
    }
    const { firstPage, pages, bytes, name } = range;
    const array = { name, type: source.type, length: source.length, byteLength: bytes };
    const { port1, port2 } = new MessageChannel();
    const staging = new SharedArrayBuffer(PLACES * PLACE_BYTES);
    const marks = new SharedArrayBuffer((PLACES + 1) * 4);
    const { url, exportName, data } = source;
    const threadData: ProviderThreadData = {
      url,
      exportName,
      data,
      array,
      port: port2,
      staging,
      placeBytes: PLACE_BYTES,
      marks,
      wakeFd: this.context.options.wakeFd,
    };
    let worker: Worker;
    try {
      worker = startProvider(name, threadData);
    } catch (error) {
      ready({ refused: false, message: `was not loaded: ${(error as Error).message}` });
      return;
    }
    // Standard output is the program's alone.
    worker.stdout.on('data', (text: Buffer) => process.stderr.write(text));
    worker.unref();
    const provider: Provider = {
      firstPage,
      pages,
      source,
      array,
      worker,
      port: port1,
      staged: new Uint8Array(staging),
      marks: new Int32Array(marks),
      places: new Array<Part | null>(PLACES).fill(null),
      urgent: [],
      others: [],
      thread: 0,
      startedAt: this.context.now(),
      answeredAt: 0,
      onReady: ready,
      failure: null,
      broken: null,
      waitsFor: -1,
      endedThen: 0,
      endingSince: Number.POSITIVE_INFINITY,
      terminated: false,
      poolUser: new Calls(() => provider),
    };
    this.watch(provider);
    this.providers.push(provider);
    this.context.sources.add(firstPage, pages, {
      kind: 'provider',
      provide: (token, page, count, target, urgent) =>
        this.provide(provider, token, page, count, target, urgent),
      end: () => {
        this.providers.splice(this.providers.indexOf(provider), 1);
        this.end(provider);
      },
    });
  }

  private provide(
    provider: Provider,
    token: number,
    page: number,
    count: number,
    target: number,
    urgent: boolean,
  ): Status {
    if (provider.broken !== null) {
      this.note(provider, provider.broken, page);
      return Status.ProviderFailed;
    }
    const within = (page - provider.firstPage) * PAGE_BYTES;
    const byteLength = Math.min(count * PAGE_BYTES, provider.array.byteLength - within);
    const part: Part = { token, page, count, target, byteLength, handedIn: 0, begun: 0 };
    (urgent ? provider.urgent : provider.others).push(part);
    this.handIn(provider);
    return Status.Pending;
  }

  /** Takes what the threads have said. */
  poll(): void {
    for (const provider of this.threads.keys()) this.read(provider);
  }

  /** Copies one part that has been filled. */
  step(): number {
    const answer = this.answers.shift();
    if (answer === undefined) return 0;
    const { provider, place, part, failure } = answer;
    const { token, page, count, target, byteLength } = part;
    if (failure === null) {
      const from = place * PLACE_BYTES;
      writeMemory(target, provider.staged.subarray(from, from + byteLength));
      // What the memory held before must not show behind the end of the array.
      if (byteLength < count * PAGE_BYTES)
        fillMemory(target + byteLength, 0, count * PAGE_BYTES - byteLength);
    } else this.note(provider, failure, page);
    provider.places[place] = null;
    this.handIn(provider);
    this.context.router.completed(token, failure === null ? Status.Done : statusOf(failure));
    return 1;
  }

  /** Whether parts wait to be copied. */
  get busy(): boolean {
    return this.answers.length > 0;
  }

  /** The end of what threads do is to be seen soon. */
  sleepMs(most: number): number {
    return this.active ? Math.min(most, SHORT_SLEEP_MS) : most;
  }

  /** Whether a thread has something to do. */
  private get active(): boolean {
    if (this.closing !== null) return this.threads.size > 0;
    for (const provider of this.threads.keys()) if (isActive(provider)) return true;
    return false;
  }

  /** Looks at the clock: what takes too long has failed. True: the event loop should turn. */
  needsTurn(): boolean {
    if (this.threads.size === 0) return false;
    const now = this.context.now();
    for (const provider of this.threads.keys()) this.checkTime(provider, now);
    this.checkPool();
    if (this.closing?.done != null && now - this.closing.since > CLOSE_MS) this.closed();
    if (now - this.lastTurn < (this.active ? BUSY_TURN_MS : IDLE_TURN_MS)) return false;
    this.lastTurn = now;
    return true;
  }

  /** Why a faulting thread may not have the page, or null: no provider waits for itself. */
  objection(page: number, thread: number): string | null {
    if (this.providers.length === 0) return null;
    this.pool.fault(page, thread);
    const own = this.providers.find((provider) => provider.thread === thread);
    if (own === undefined) return null;
    const touched = this.find(page);
    own.waitsFor = touched === null || touched === own ? -1 : page;
    own.endedThen = Atomics.load(own.marks, PLACES);
    if (touched === null) return null;
    if (touched === own) {
      return 'which it fills itself: a provider is handed the memory that it fills, and must not touch its own array';
    }
    if (!this.context.manager.pages.isAbsent(page)) return null;
    const circle = [own.array.name];
    let at = touched;
    while (circle.push(at.array.name) <= this.providers.length) {
      const { waitsFor } = at;
      // What a thread does after a call has ended, it did not wait for.
      const waits = waitsFor !== -1 && Atomics.load(at.marks, PLACES) === at.endedThen;
      const next = waits ? this.find(waitsFor) : null;
      if (
        next === null ||
        !this.context.manager.pages.isAbsent(waitsFor) ||
        !this.context.manager.pages.isAwaited(HOST, waitsFor)
      )
        return null;
      if (next === own) {
        const names = [...circle, own.array.name].join(' needs ');
        return `whose provider waits for this one (${names}): providers must not touch each other's arrays in a circle`;
      }
      at = next;
    }
    return null;
  }

  /** What went wrong last with the provider of a page; null if nothing did. */
  failureOf(page: number): {
    readonly page: number;
    readonly order: number;
    readonly message: string;
    readonly stack?: string;
  } | null {
    const provider = this.find(page);
    if (provider?.failure == null) return null;
    const { message, stack, refused, page: at, order } = provider.failure;
    const { exportName, url } = provider.source;
    const text = refused ? message : `${exportName} of ${url} ${message}`;
    return {
      page: at,
      order,
      message: text.replace(/\s*\n\s*/g, ' '),
      ...(stack === undefined ? {} : { stack }),
    };
  }

  /** Ends all threads; `done` is called when they have ended, or sit in a fault and cannot. */
  endAll(done: () => void): void {
    if (this.threads.size === 0) {
      done();
      return;
    }
    this.closing = { since: this.context.now(), done };
    for (const provider of this.threads.keys()) {
      this.end(provider);
      provider.worker.ref();
    }
  }

  /** When every thread has ended. */
  async ended(): Promise<void> {
    await Promise.all(this.threads.values());
  }

  private watch(provider: Provider): void {
    const { worker } = provider;
    // Counted like threads that attach: if the process exits while this one sits in a fault,
    // Node.js must not wait for it.
    Atomics.add(this.context.control, Control.AttachedThreads, 1);
    let problem = '';
    worker.on('error', (error: Error) => {
      problem = `: ${error.name}: ${error.message}`;
    });
    this.threads.set(
      provider,
      new Promise((resolve) => {
        worker.once('exit', (code) => {
          this.read(provider);
          this.threads.delete(provider);
          Atomics.sub(this.context.control, Control.AttachedThreads, 1);
          provider.port.close();
          const message = `ended its thread${problem === '' ? ` with code ${code}` : problem}`;
          this.breakDown(provider, { refused: false, message });
          resolve();
          if (this.threads.size === 0) this.closed();
        });
      }),
    );
  }

  private closed(): void {
    const done = this.closing?.done;
    if (this.closing !== null) this.closing.done = null;
    done?.();
  }

  private read(provider: Provider): void {
    const { port } = provider;
    for (;;) {
      const received = receiveMessageOnPort(port) as { message: FromProvider } | undefined;
      if (received === undefined) return;
      const { message } = received;
      provider.answeredAt = this.context.now();
      if ('thread' in message) {
        provider.thread = message.thread;
        this.ready(provider, null);
        this.handIn(provider);
      } else if ('poolRequests' in message) provider.poolUser.requests = message.poolRequests;
      else if ('unusable' in message) this.breakDown(provider, message.unusable);
      else {
        const part = provider.places[message.place];
        if (part !== null && provider.broken === null) {
          this.answers.push({ provider, place: message.place, part, failure: message.failure });
          // It keeps its place until it has been copied, but has nothing to do with the clock any
          // more.
          part.handedIn = Number.POSITIVE_INFINITY;
        }
      }
    }
  }

  private ready(provider: Provider, failure: ProviderFailure | null): void {
    const { onReady } = provider;
    provider.onReady = null;
    onReady?.(failure);
  }

  private handIn(provider: Provider): void {
    if (provider.thread === 0 || provider.broken !== null) return;
    for (let place = 0; place < PLACES; place++) {
      if (provider.places[place] !== null) continue;
      const part = provider.urgent.shift() ?? provider.others.shift();
      if (part === undefined) return;
      part.handedIn = this.context.now();
      provider.places[place] = part;
      Atomics.store(provider.marks, place, 0);
      const byteOffset = (part.page - provider.firstPage) * PAGE_BYTES;
      const message: ToProvider = { place, byteOffset, byteLength: part.byteLength };
      provider.port.postMessage(message);
    }
  }

  private checkTime(provider: Provider, now: number): void {
    const { source, places, broken } = provider;
    if (now - provider.endingSince > GRACE_MS && !provider.terminated) this.terminate(provider);
    if (broken !== null) return;
    const limit = source.timeoutMs;
    if (provider.onReady !== null && now - provider.startedAt > LOADING_MS) {
      this.breakDown(provider, {
        refused: false,
        message: `was not loaded within ${LOADING_MS} ms`,
      });
      return;
    }
    for (let place = 0; place < PLACES; place++) {
      const part = places[place];
      if (part === null) continue;
      if (part.begun === 0 && Atomics.load(provider.marks, place) === 1) part.begun = now;
      // A call that has not begun waits for others, which the thread works on as long as it
      // answers.
      const since =
        part.begun > 0
          ? Math.max(part.begun, part.handedIn)
          : Math.max(part.handedIn, provider.answeredAt);
      if (now - since <= limit) continue;
      const message = `did not answer within ${limit} ms; give up earlier and throw, or set a larger timeoutMs`;
      this.breakDown(provider, { refused: false, message });
      return;
    }
  }

  private checkPool(): void {
    for (const { provider } of this.pool.stuck()) {
      const message =
        `waits for Node.js's thread pool, all ${this.pool.threads} threads of which wait for pages of provided arrays; ` +
        'read by calls that need no pool (readSync, inflateSync), or have fewer asynchronous calls of Node.js (zlib, crypto, fs) use the array at once';
      this.breakDown(provider(), { refused: false, message });
    }
  }

  /** It is asked no more, and calls that wait for it wait no longer. */
  private breakDown(provider: Provider, failure: ProviderFailure): void {
    if (provider.broken !== null) return;
    provider.broken = failure;
    this.ready(provider, failure);
    if (this.threads.has(provider)) this.terminate(provider);
    // A thread that waits while the space closes is let go on by the close.
    if (this.closing !== null) return;
    const answered = this.answers
      .filter((answer) => answer.provider === provider)
      .map(({ part }) => part);
    const parts = provider.places.filter(
      (part): part is Part => part !== null && !answered.includes(part),
    );
    parts.push(...provider.urgent.splice(0), ...provider.others.splice(0));
    for (const { token, page } of parts) {
      this.note(provider, failure, page);
      this.context.router.completed(token, Status.ProviderFailed);
    }
  }

  private end(provider: Provider): void {
    provider.endingSince = Math.min(provider.endingSince, this.context.now());
    provider.port.postMessage('end' satisfies ToProvider);
  }

  private terminate(provider: Provider): void {
    provider.terminated = true;
    // A thread that sits in a fault ends when the fault has been served.
    void provider.worker.terminate();
  }

  private note(provider: Provider, failure: ProviderFailure, page: number): void {
    provider.failure = { ...failure, page, order: ++this.failures };
  }

  private find(page: number): Provider | null {
    for (const provider of this.providers) {
      if (page >= provider.firstPage && page < provider.firstPage + provider.pages) return provider;
    }
    return null;
  }
}

function isActive(provider: Provider): boolean {
  if (
    provider.onReady !== null ||
    provider.terminated ||
    provider.endingSince !== Number.POSITIVE_INFINITY
  )
    return true;
  return provider.places.some((part) => part !== null);
}

function statusOf({ refused }: ProviderFailure): Status {
  return refused ? Status.Refused : Status.ProviderFailed;
}

function startProvider(name: string, workerData: ProviderThreadData): Worker {
  // The build joins this file with others one folder deep: the path has to hold from there, too.
  return startOwnThread(new URL('../sources/provider-thread.js', import.meta.url), {
    workerData,
    transferList: [workerData.port],
    name: `onemem provider of ${name}`,
    stdout: true,
  });
}
