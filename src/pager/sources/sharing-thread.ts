/**
 * The thread of an array that several machines share: it speaks with the server as a member, has
 * the manager do what is to be done with blocks, and looks at the clock for calls that wait.
 */

import { workerData } from 'node:worker_threads';
import type { Right, Rights } from '../../coherence/messages.js';
import type { DenyReason } from '../../core/basics/types.js';
import { monotonicMs } from '../../linux/base/clock.js';
import { randomName } from '../../linux/base/random.js';
import { barrierAnswer, barrierCommand, barrierWithdrawal } from '../../sharing/barrier.js';
import { Member, type SharedMemory } from '../../sharing/member.js';
import { valkeyAddress } from '../../valkey/address.js';
import type { ValkeyError } from '../../valkey/errors.js';
import { learnHosts } from '../../valkey/host-addresses.js';
import { insteadOf } from '../../valkey/remedies.js';
import {
  type FromSharing,
  OPEN_AGAIN,
  type SharingCall,
  type SharingThreadData,
  type ToSharing,
} from '../protocol/sharing.js';
import { endStart } from '../protocol/starting.js';
import { codeOfDenial, explainDenial, type WireError, wireError } from '../protocol/wire.js';
import { wakeManager } from './wake-manager.js';

const { source, name, blocks, elementBytes, port, wakeFd, running, start } =
  workerData as SharingThreadData;
const { urls, tls, timeoutMs, leaseMs, blockBytes, made } = source;
learnHosts(source.hosts);
const { shown } = valkeyAddress(urls[0]);
const operations = new Int32Array(running);
/** How often the clock is looked at while threads or calls wait. */
const LOOK_MS = 20;
/** A program that waits at a barrier asks so often whether it is open. */
const BARRIER_MS = 5;
/** A block whose content could not be copied for want of memory is tried again. */
const AGAIN_MS = 50;
/** Threads that were denied a block that the server does not give may ask again after so long. */
const PARDON_MS = 1000;

function tell(message: FromSharing): void {
  // A content is its own memory, and goes as it is.
  const content = message.kind === 'install' ? message.content : null;
  port.postMessage(
    message,
    content === null || content.length === 0 ? [] : [content.buffer as ArrayBuffer],
  );
  // It is of use with what is said of the block next, and is heard before that.
  if (message.kind === 'clean') return;
  wakeManager(wakeFd);
}

/** A call that waits for blocks to be on the server. */
interface Fence {
  readonly since: number;
  /** How long it waits for a server that does not answer. */
  readonly limit: number;
  readonly left: Set<number>;
  readonly lost: number[];
  readonly done: (failure: WireError | null) => void;
}

class Blocks implements SharedMemory {
  readonly member: Member;
  /** Why there is no connection. */
  problem: ValkeyError | null = null;
  /**
   * Why the array is used no more, as threads are denied it and calls fail: the server has
   * forgotten it, or what was written cannot be had here.
   */
  loss: { readonly reason: DenyReason; readonly error: WireError } | null = null;
  /** Blocks that threads wait for, with the right and since when. */
  private readonly touched = new Map<number, { right: Right; since: number }>();
  /** Blocks that may have been written since the server had them. */
  private readonly changed = new Set<number>();
  private readonly targets = new Map<number, 'none' | 'read'>();
  private readonly contents = new Map<number, Uint8Array>();
  private readonly fences = new Set<Fence>();
  /** Blocks whose content written here is lost, untold yet: the next fence tells. */
  private readonly untold = new Set<number>();
  private clock: NodeJS.Timeout | null = null;

  constructor() {
    this.member = new Member({ urls, tls, name, made, blocks, leaseMs, timeoutMs, memory: this });
  }

  touch(block: number, right: Right): void {
    if (this.loss !== null) {
      tell({ kind: 'refuse', block, reason: this.loss.reason });
      return;
    }
    const known = this.touched.get(block);
    if (known === undefined) this.touched.set(block, { right, since: performance.now() });
    else if (right === 'write') known.right = right;
    this.wind();
    this.member.touch(block, right);
  }

  install(block: number, content: Uint8Array | null, right: Right): void {
    if (right === 'write') this.changed.add(block);
    const known = this.touched.get(block);
    if (known !== undefined && (right === 'write' || known.right === 'read'))
      this.touched.delete(block);
    tell({ kind: 'install', block, content, right });
  }

  spoiled(block: number): void {
    tell({ kind: 'lost', block, own: false });
    this.refuse(block, 'GONE');
  }

  restrict(block: number, right: Rights): void {
    this.targets.set(block, right === 'none' ? 'none' : 'read');
    this.restrictAgain(block);
  }

  ended(): void {
    tell({ kind: 'ended' });
  }

  restricted(block: number, content: Uint8Array | null): void {
    if (content !== null) this.contents.set(block, content);
    this.member.restricted(block, content !== null);
  }

  /** What was written to the block could not be copied. */
  broken(block: number, reason: DenyReason): void {
    if (codeOfDenial(reason) !== 'DATA_LOST') {
      setTimeout(() => this.restrictAgain(block), AGAIN_MS);
      return;
    }
    if (this.loss === null) {
      // Rights are taken from threads, and nothing is copied for that.
      for (const each of this.changed) tell({ kind: 'clean', block: each });
      this.lose(reason, brokenError(block, reason));
      this.member.abandon();
    }
    this.restrict(block, 'none');
  }

  get isHeld(): boolean {
    return Atomics.load(operations, 0) > 0;
  }

  contentOf(block: number): Uint8Array {
    const content = this.contents.get(block) as Uint8Array;
    this.contents.delete(block);
    return content;
  }

  clean(block: number): void {
    this.changed.delete(block);
    tell({ kind: 'clean', block });
  }

  flushed(block: number): void {
    this.endFlush(block, false);
  }

  lost(block: number): void {
    this.changed.delete(block);
    tell({ kind: 'clean', block });
    tell({ kind: 'lost', block, own: true });
    if (!this.endFlush(block, true)) this.untold.add(block);
  }

  abandoned(block: number): void {
    tell({ kind: 'lost', block, own: false });
  }

  forgotten(): void {
    tell({ kind: 'forgotten' });
    this.lose('FORGOTTEN', forgottenError());
    // What was written and not flushed is told of with the rest.
    this.changed.clear();
  }

  connection(failure: ValkeyError | null): void {
    this.problem = failure;
    tell({ kind: 'connection', problem: failure === null ? null : insteadOf(failure) });
  }

  /** The server has everything written until now, or why not. @param limit of the wait */
  fence(limit: number): Promise<WireError | null> {
    if (this.loss !== null) {
      this.changed.clear();
      return Promise.resolve(this.loss.error);
    }
    if (this.untold.size > 0) {
      const error = lostError([...this.untold]);
      this.untold.clear();
      return Promise.resolve(error);
    }
    if (this.changed.size === 0) return Promise.resolve(null);
    return new Promise((done) => {
      const left = new Set(this.changed);
      this.fences.add({ since: performance.now(), limit, left, lost: [], done });
      this.wind();
      for (const block of left) this.member.flush(block);
    });
  }

  /** Why a waiter for these blocks since then waits no longer; null: it waits on. */
  overdue(since: number, limit: number, blocks: Iterable<number> = []): ValkeyError | null {
    const now = performance.now();
    if (now - since < limit) return null;
    if (this.problem !== null && now - this.member.heardAt >= limit) return this.problem;
    for (const block of blocks) {
      const error = this.member.errorOf(block);
      if (error !== null) return error;
    }
    return null;
  }

  /** Gives everything up. Returns what was lost with that, or before, if untold. */
  async leave(): Promise<WireError | null> {
    if (this.loss === null) await this.member.close();
    if (this.changed.size > 0)
      return this.loss?.error ?? unflushedError([...this.changed], this.problem);
    return this.untold.size > 0 ? lostError([...this.untold]) : null;
  }

  /** The server does not give a block, or not now. */
  private refuse(
    block: number,
    reason: 'GONE' | 'NODE_LOST',
    error: ValkeyError | null = null,
  ): void {
    this.touched.delete(block);
    tell({ kind: 'refuse', block, reason, ...(error === null ? {} : { why: insteadOf(error) }) });
    // Nothing tells when it gives the block again.
    if (this.problem === null) setTimeout(() => tell({ kind: 'again', block }), PARDON_MS);
  }

  /** Nothing is to be had of the array any more. */
  private lose(reason: DenyReason, error: WireError): void {
    this.loss = { reason, error };
    for (const block of this.touched.keys()) tell({ kind: 'refuse', block, reason });
    this.touched.clear();
    for (const fence of this.fences) this.end(fence, error);
  }

  private restrictAgain(block: number): void {
    tell({
      kind: 'restrict',
      block,
      right: this.targets.get(block) ?? 'none',
      isOver: !this.member.hasSession,
    });
  }

  /** Returns whether a fence waited for it. */
  private endFlush(block: number, isLost: boolean): boolean {
    let any = false;
    for (const fence of this.fences) {
      if (!fence.left.delete(block)) continue;
      any = true;
      if (isLost) fence.lost.push(block);
      if (fence.left.size === 0)
        this.end(fence, fence.lost.length === 0 ? null : lostError(fence.lost));
    }
    return any;
  }

  private end(fence: Fence, failure: WireError | null): void {
    this.fences.delete(fence);
    fence.done(failure);
  }

  /** Looks at the clock as long as threads or calls wait. */
  private wind(): void {
    this.clock ??= setInterval(() => this.look(), LOOK_MS);
  }

  private look(): void {
    for (const [block, { since }] of this.touched) {
      const problem = this.overdue(since, timeoutMs, [block]);
      if (problem === null) continue;
      this.member.forget(block);
      this.refuse(block, 'NODE_LOST', problem);
    }
    for (const fence of this.fences) {
      const problem = this.overdue(fence.since, fence.limit, fence.left);
      if (problem !== null) this.end(fence, nodeLost(problem, fence.limit));
    }
    if (this.touched.size + this.fences.size > 0 || this.clock === null) return;
    clearInterval(this.clock);
    this.clock = null;
  }
}

/** @param limit how long the server was waited for, which may come back at any time */
function nodeLost(problem: ValkeyError, limit: number): WireError {
  const option = limit === timeoutMs ? 'on.timeoutMs of the array' : 'timeoutMs of the barrier';
  const text =
    `array ${name} is shared by the server ${shown}, which ${insteadOf(problem)}; it was waited for for ${limit} ms (${option}); ` +
    'writes stay in memory until it is back';
  return wireError('NODE_LOST', text, { array: name, url: shown, said: problem.word });
}

/** What was written could not be flushed before it was given up. */
function unflushedError(blocks: readonly number[], problem: ValkeyError | null): WireError {
  const why = problem === null ? `has not taken it within ${leaseMs} ms` : insteadOf(problem);
  const { words, details } = placeOf(blocks);
  const text =
    `${words} are lost, with writes that were not flushed: the server ${shown}, by which the array is shared, ${why}; ` +
    'await fence() before: it keeps all that it could not flush';
  return wireError('NODE_LOST', text, { ...details, url: shown });
}

/** What was written to a block is not to be had here. */
function brokenError(block: number, reason: DenyReason): WireError {
  const { details } = placeOf([block]);
  const way = reason === 'LOST' ? '' : ', went to storage for want of host memory,';
  const why = explainDenial(reason, `${OPEN_AGAIN}: this program no longer shares it`);
  const text = `elements of array ${name} from ${details.element} on were written here${way} and are lost, ${why}`;
  return wireError('DATA_LOST', text, { ...details, reason });
}

/** Blocks in words, and for programs. */
function placeOf(blocks: readonly number[]): { words: string; details: Record<string, unknown> } {
  const element = Math.floor((Math.min(...blocks) * blockBytes) / elementBytes);
  const words = `${blocks.length} of the blocks of array ${name}, the first from element ${element} on,`;
  return { words, details: { array: name, element, blocks: blocks.length } };
}

function forgottenError(): WireError {
  const text =
    `the server ${shown} has come back without array ${name}: flushed and unflushed content is ` +
    'lost; free the array and open it again, and set appendonly yes on the server';
  return wireError('DATA_LOST', text, { array: name, url: shown });
}

function lostError(lost: readonly number[]): WireError {
  const { words, details } = placeOf(lost);
  const text =
    `${words} were written here and are lost: the lease of this machine ended and others took ` +
    'them with their flushed content, or the server came back with older content; read them, ' +
    'and write again what is missing';
  return wireError('DATA_LOST', text, details);
}

type Barrier = Extract<SharingCall, { kind: 'barrier' }>;

/** Calls that wait at barriers, by their names there. */
const waits = new Map<string, string>();

/** A call waits no more: others are not to count it. What is asked after this comes after it. */
function withdraw(me: string, barrierName: string): void {
  waits.delete(me);
  memory.member.ask(barrierWithdrawal(name, barrierName, me)).catch(() => undefined);
}

async function barrier(call: Barrier): Promise<WireError | null> {
  const me = randomName();
  waits.set(me, call.name);
  const failure = await waitAt(call, me);
  if (failure === null) waits.delete(me);
  else withdraw(me, call.name);
  return failure;
}

/** How long a call waits for a server that does not answer: no longer than for other programs. */
function serverLimit(call: SharingCall): number {
  return Math.min(timeoutMs, (call.kind === 'barrier' ? call.timeoutMs : null) ?? timeoutMs);
}

/** Waits until so many programs are there, each by a call of its own. */
async function waitAt(call: Barrier, me: string): Promise<WireError | null> {
  const { name: barrierName, count, timeoutMs: limit } = call;
  const silent = serverLimit(call);
  const began = performance.now();
  let asked = began;
  // One that was withdrawn has been answered.
  for (let seen = -1; waits.has(me); ) {
    try {
      const command = barrierCommand(name, made, barrierName, me, count, leaseMs, seen);
      const { state, number } = barrierAnswer(await memory.member.ask(command));
      if (state === 'opened') return null;
      if (state === 'forgotten') return forgottenError();
      if (state === 'other') {
        const text = `barrier ${barrierName} of array ${name} is for ${number} programs where others wait, and for ${count} here`;
        return wireError('BARRIER', text, {
          array: name,
          barrier: barrierName,
          count,
          others: number,
        });
      }
      seen = number;
      asked = performance.now();
    } catch (error) {
      if (memory.loss !== null) return memory.loss.error;
      const { code } = error as ValkeyError;
      const isRefused = code === 'REPLY' && performance.now() - asked >= silent;
      const problem = isRefused ? (error as ValkeyError) : memory.overdue(asked, silent);
      if (problem !== null) return nodeLost(problem, silent);
    }
    if (limit !== null && performance.now() - began >= limit) {
      const text = `barrier ${barrierName} of array ${name} was not reached by ${count} programs within ${limit} ms`;
      return wireError('BARRIER_TIMEOUT', text, { array: name, barrier: barrierName, count });
    }
    await new Promise((resolve) => setTimeout(resolve, BARRIER_MS));
  }
  return null;
}

async function carryOut(call: SharingCall): Promise<WireError | null> {
  const failure = await memory.fence(serverLimit(call));
  return failure !== null || call.kind === 'fence' ? failure : barrier(call);
}

async function leave(): Promise<never> {
  for (const [me, barrierName] of [...waits]) withdraw(me, barrierName);
  tell({ kind: 'left', failure: await memory.leave() });
  process.exit(0);
}

const memory = new Blocks();
port.on('message', (message: ToSharing) => {
  switch (message.kind) {
    case 'touch':
      memory.touch(message.block, message.right);
      break;
    case 'installed':
      memory.member.installed(message.block, monotonicMs() - message.at);
      break;
    case 'notInstalled':
      memory.member.notInstalled(message.block);
      break;
    case 'restricted':
      memory.restricted(message.block, message.content);
      break;
    case 'broken':
      memory.broken(message.block, message.reason);
      break;
    case 'call': {
      const { id } = message;
      void carryOut(message.call).then((failure) => tell({ kind: 'answer', id, failure }));
      break;
    }
    case 'leave':
      void leave();
      break;
  }
});
endStart(start);
