import { describe, expect, it } from 'vitest';
import type { OperationDone, StreamEvent, StreamOperation } from '../protocol/operations.js';
import type { WireError } from '../protocol/wire.js';
import { wireError } from '../protocol/wire.js';
import { type StreamOwner, Streams } from './streams.js';

const PLACE = { range: 1, name: 'x', offset: 0 };

class World {
  readonly events: StreamEvent[] = [];
  readonly begun: { operation: StreamOperation; done: OperationDone }[] = [];
  readonly called: string[] = [];
  /** Operations that have not ended. */
  readonly given = new Set<StreamOperation>();
  /** Sequences of launches that still wait for their device. */
  readonly withdrawable = new Set<number>();
  now = 0;
  /** Threads that have not ended. */
  readonly living = new Set([1, 2]);
  /** Operations of a stream that may have begun. */
  together = 1;
  /** Operations that may begin before others get their turn. */
  mayBegin = Number.POSITIVE_INFINITY;
  readonly streams = new Streams({
    execute: (operation, done) => void this.begun.push({ operation, done }),
    withdraw: ({ sequence }) => this.withdrawable.delete(sequence),
    mostTogether: () => this.together,
    given: (operation) => void this.given.add(operation),
    over: (operation) => {
      // What takes an operation's place when it is cancelled was never given.
      if (operation.kind !== 'cancelled' && !this.given.delete(operation))
        throw new Error('it was not given');
    },
    threadExists: (thread) => this.living.has(thread),
    now: () => this.now,
    mayBegin: () => this.mayBegin-- > 0,
  });

  give(operation: StreamOperation): void {
    this.streams.enqueue(operation, {
      ended: (event) => void this.events.push(event),
      call: (stream, sequence) => void this.called.push(`${stream} ${sequence}`),
    });
  }

  launch(stream: number, sequence: number): void {
    this.give({
      kind: 'prefetch',
      range: 1,
      name: 'x',
      device: 0,
      firstPage: 0,
      count: 1,
      exclusive: false,
      stream,
      sequence,
    });
  }

  get results(): string[] {
    return this.events.map(({ stream, sequence, result, error }) =>
      [
        `${stream}.${sequence}`,
        result,
        ...(error === null ? [] : [error.details.cause ?? error.code]),
      ].join(' '),
    );
  }
}

const cancelAll = { stream: 1, sequence: null, ended: false, reason: 'enough' };

describe('streams', () => {
  it('tell what becomes of operations the clients alone that gave them', () => {
    const { streams, begun } = new World();
    const heard: string[] = [];
    const ownerOf = (name: string): StreamOwner => ({
      ended: ({ stream, sequence }) => void heard.push(`${name} ${stream}.${sequence}`),
      call: (stream, sequence) => void heard.push(`${name} calls ${stream}.${sequence}`),
    });
    streams.enqueue(
      { kind: 'copy', to: PLACE, from: PLACE, bytes: 1, at: null, stream: 1, sequence: 1 },
      ownerOf('a'),
    );
    streams.enqueue({ kind: 'call', thread: 1, stream: 2, sequence: 1 }, ownerOf('b'));
    streams.called(2, 1, null);
    begun[0].done(null);
    expect(heard).toEqual(['b calls 2.1', 'b 2.1', 'a 1.1']);
  });

  it('hand over operations together whose order is kept, and tell of their ends in that order', () => {
    const world = new World();
    world.together = 3;
    for (const sequence of [1, 2, 3, 4]) world.launch(1, sequence);
    expect(world.begun.map(({ operation }) => operation.sequence)).toEqual([1, 2, 3]);
    world.begun[1].done(null);
    expect(world.results).toEqual([]);
    world.begun[0].done(null);
    expect(world.results).toEqual(['1.1 done', '1.2 done']);
    expect(world.begun.map(({ operation }) => operation.sequence)).toEqual([1, 2, 3, 4]);
  });

  it('take back what was handed over behind one that failed, or was taken back', () => {
    for (const [failing, results] of [
      [
        'by itself',
        ['1.1 failed KERNEL_ERROR', '1.2 cancelled KERNEL_ERROR', '1.3 cancelled KERNEL_ERROR'],
      ],
      ['taken back', ['1.1 done', '1.2 cancelled ABORTED', '1.3 cancelled CANCELLED']],
    ] as const) {
      const world = new World();
      world.together = 3;
      for (const sequence of [1, 2, 3]) world.launch(1, sequence);
      for (const sequence of [2, 3]) world.withdrawable.add(sequence);
      if (failing === 'taken back')
        world.streams.cancel({ stream: 1, sequence: 2, ended: false, reason: 'enough' });
      world.begun[0].done(failing === 'by itself' ? wireError('KERNEL_ERROR', 'it broke') : null);
      expect(world.results).toEqual(results);
      expect(world.given.size).toBe(0);
    }
  });

  it('cancel what was handed over behind one that runs when all is cancelled', () => {
    const world = new World();
    world.together = 2;
    for (const sequence of [1, 2, 3]) world.launch(1, sequence);
    for (const sequence of [1, 2]) world.withdrawable.add(sequence);
    world.streams.cancelAll(wireError('SPACE_CLOSED', 'it is being closed'));
    world.begun[0].done(null);
    expect(world.results).toEqual([
      '1.1 done',
      '1.2 cancelled SPACE_CLOSED',
      '1.3 cancelled SPACE_CLOSED',
    ]);
  });

  it('leave what follows one that runs and cannot be taken back', () => {
    const world = new World();
    world.together = 3;
    for (const sequence of [1, 2, 3]) world.launch(1, sequence);
    world.withdrawable.add(3);
    world.streams.cancel({ stream: 1, sequence: 2, ended: false, reason: 'enough' });
    for (const { done } of world.begun) done(null);
    expect(world.results).toEqual(['1.1 done', '1.2 done', '1.3 done']);
  });

  it('carry out one operation at a time, and cancel what comes after a failure until it is forgiven', () => {
    const world = new World();
    for (const sequence of [1, 2, 3]) world.launch(1, sequence);
    expect(world.begun).toHaveLength(1);
    world.now = 5;
    world.begun[0].done(null, { bytes: 4096, pages: 1 });
    expect(world.events[0]).toMatchObject({
      result: 'done',
      bytes: 4096,
      pages: 1,
      startedMs: 0,
      endedMs: 5,
    });
    world.begun[1].done(wireError('KERNEL_ERROR', 'it broke'));
    world.launch(1, 4);
    world.streams.forgive(1);
    world.launch(1, 5);
    world.begun[2].done(null);
    expect(world.results).toEqual([
      '1.1 done',
      '1.2 failed KERNEL_ERROR',
      '1.3 cancelled KERNEL_ERROR',
      '1.4 cancelled KERNEL_ERROR',
      '1.5 done',
    ]);
  });

  it('let what runs end when they are cancelled, and begin nothing any more', () => {
    const world = new World();
    for (const sequence of [1, 2]) world.launch(1, sequence);
    world.give({ kind: 'wait', other: 1, otherSequence: 2, failure: null, stream: 2, sequence: 1 });
    world.streams.cancel(cancelAll);
    expect(world.results).toEqual([]);
    world.begun[0].done(null);
    world.streams.forgive(1);
    world.launch(1, 3);
    expect(world.begun).toHaveLength(1);
    // An operation that waited for what was cancelled has failed for that reason.
    expect(world.results).toEqual([
      '1.1 done',
      '1.2 cancelled ABORTED',
      '2.1 failed CANCELLED',
      '1.3 cancelled ABORTED',
    ]);
  });

  it('take back what waits for its device, or for another stream', () => {
    const world = new World();
    world.launch(1, 1);
    world.withdrawable.add(1);
    world.streams.cancel(cancelAll);
    expect(world.results).toEqual(['1.1 cancelled ABORTED']);
    world.launch(2, 1);
    world.give({ kind: 'wait', other: 2, otherSequence: 1, failure: null, stream: 3, sequence: 1 });
    world.streams.cancel({ ...cancelAll, stream: 3 });
    expect(world.results).toEqual(['1.1 cancelled ABORTED', '3.1 cancelled ABORTED']);
    world.begun[1].done(null);
    expect(world.results).toHaveLength(3);
  });

  it('fail operations that wait for a launch that was ended by its signal, as for any other failure', () => {
    const world = new World();
    world.launch(1, 1);
    world.give({ kind: 'wait', other: 1, otherSequence: 1, failure: null, stream: 2, sequence: 1 });
    world.begun[0].done(wireError('ABORTED', 'it was ended'));
    expect(world.results).toEqual(['1.1 failed ABORTED', '2.1 failed ABORTED']);
    expect(world.events[1].error?.code).toBe('CANCELLED');
  });

  it('cancel one operation in its turn', () => {
    const world = new World();
    for (const sequence of [1, 2, 3]) world.launch(1, sequence);
    world.streams.cancel({ stream: 1, sequence: 2, ended: true, reason: 'not this one' });
    expect(world.results).toEqual([]);
    world.begun[0].done(null);
    expect(world.results).toEqual(['1.1 done', '1.2 cancelled ABORTED', '1.3 cancelled CANCELLED']);
    expect(world.events[1].error?.message).toContain('not this one');
  });

  it('wait for functions, and not for those of threads that have ended', () => {
    const world = new World();
    for (const stream of [1, 2]) {
      world.give({ kind: 'call', thread: stream, stream, sequence: 1 });
      world.launch(stream, 2);
    }
    expect(world.called).toEqual(['1 1', '2 1']);
    expect(world.begun).toEqual([]);
    world.streams.called(1, 1, null);
    expect(world.begun).toHaveLength(1);
    world.living.delete(2);
    world.streams.look(1e6);
    expect(world.results).toEqual([
      '1.1 done',
      '2.1 failed THREAD_ENDED',
      '2.2 cancelled THREAD_ENDED',
    ]);
    // A late answer changes nothing.
    world.streams.called(2, 1, null);
    expect(world.results).toHaveLength(3);
  });

  it('never call a function that was taken back', () => {
    const world = new World();
    world.launch(1, 1);
    world.give({ kind: 'call', thread: 1, stream: 1, sequence: 2 });
    world.streams.called(1, 2, wireError('SPACE_CLOSED', 'left'));
    world.begun[0].done(null);
    expect(world.called).toEqual([]);
    expect(world.results).toEqual(['1.1 done', '1.2 cancelled ABORTED']);
  });

  it('forget a stream that has ended once it is idle, and know its events as past', () => {
    const world = new World();
    world.launch(1, 1);
    world.streams.end(1);
    expect(world.streams.active).toBe(true);
    world.begun[0].done(null);
    expect(world.streams.active).toBe(false);
    world.streams.cancel({ ...cancelAll, ended: true });
    world.give({ kind: 'wait', other: 1, otherSequence: 1, failure: null, stream: 2, sequence: 1 });
    expect(world.results).toEqual(['1.1 done', '2.1 done']);
  });

  it('tell once of each operation that it has ended, however it did', () => {
    const world = new World();
    for (const sequence of [1, 2, 3, 4]) world.launch(1, sequence);
    world.streams.cancel({ ...cancelAll, sequence: 3 });
    expect(world.given.size).toBe(3);
    world.begun[0].done(null);
    world.begun[1].done(wireError('KERNEL_ERROR', 'it broke'));
    expect(world.given.size).toBe(0);
    expect(world.results).toHaveLength(4);
  });

  it('go through any number of operations that end at once', () => {
    const world = new World();
    world.launch(1, 1);
    for (let sequence = 2; sequence < 100_000; sequence++) {
      world.give({ kind: 'marker', stream: 1, sequence });
    }
    world.begun[0].done(null);
    expect(world.events).toHaveLength(99_999);
  });

  it('remember what a wait was for, whatever becomes of the other stream before its turn', () => {
    const world = new World();
    const wait = (other: number, sequence: number, failure: WireError | null = null): void =>
      world.give({ kind: 'wait', other, otherSequence: 1, failure, stream: 2, sequence });
    world.launch(1, 1);
    world.launch(2, 1);
    wait(1, 2);
    world.begun[0].done(wireError('KERNEL_ERROR', 'it broke'));
    // The program knows, and has let go of the stream.
    world.streams.forgive(1);
    world.streams.end(1);
    world.begun[1].done(null);
    world.streams.forgive(2);
    wait(1, 3, wireError('KERNEL_ERROR', 'it broke'));
    expect(world.results).toEqual([
      '1.1 failed KERNEL_ERROR',
      '2.1 done',
      '2.2 failed KERNEL_ERROR',
      '2.3 failed KERNEL_ERROR',
    ]);
  });

  it('let others have their turn, and begin what had to wait when it is theirs again', () => {
    const world = new World();
    world.mayBegin = 3;
    for (let sequence = 1; sequence <= 4; sequence++) {
      for (const stream of [1, 2]) world.give({ kind: 'marker', stream, sequence });
    }
    expect(world.results).toEqual(['1.1 done', '2.1 done', '1.2 done']);
    expect(world.streams.busy).toBe(true);
    for (const ended of [['2.2'], ['1.3'], ['2.3', '2.4', '1.4']]) {
      world.mayBegin = ended.length;
      const before = world.results.length;
      world.streams.go();
      while (world.mayBegin > 0 && world.streams.busy) world.streams.go();
      expect(world.results.slice(before)).toEqual(ended.map((each) => `${each} done`));
    }
    expect(world.streams.busy).toBe(false);
  });
});
