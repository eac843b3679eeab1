import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../policy/choices.js';
import { none, pattern } from '../policy/pattern/pattern.js';
import { has } from './basics/mask.js';
import {
  Access,
  type Commands,
  type DeviceDescription,
  HOST,
  HOST_NODE,
  NO_NODE,
  PAGES_PER_BLOCK,
  PageState,
  type PrefetchPolicy,
  type ProcessorId,
  Status,
  type Transfer,
} from './basics/types.js';
import { checkInvariants } from './invariants.js';
import { ATTEMPTS } from './movement/operation.js';
import type { Range } from './table/range.js';
import { OpenManager } from './test-manager.js';
import { allocateIn, deviceOf } from './test-parts.js';

const BLOCK = PAGES_PER_BLOCK;
const rights = ['none', 'read', 'write'];
const sources = ['provider', 'zero'];

/**
 * Writes down what the core asks for, and answers as it is told. Processors are named by their
 * first letter.
 */
class Recorder implements Commands {
  readonly log: string[] = [];
  /** Tokens of what is pending, oldest first. */
  readonly pending: number[] = [];
  transferStatus: (source: number, processor: number, count: number) => Status = () => Status.Done;
  revokeStatus: Status = Status.Done;
  releaseStatus: Status = Status.Done;

  map(processor: number, page: number, count: number, access: Access, previous: Access): void {
    this.log.push(`${name(processor)} map ${page}+${count} ${rights[previous]}>${rights[access]}`);
  }
  revoke(token: number, processor: number, page: number, count: number, to: Access): Status {
    this.log.push(`${name(processor)} revoke ${page}+${count} to ${rights[to]}`);
    if (this.revokeStatus === Status.Pending) this.pending.push(token);
    return this.revokeStatus;
  }
  transfer({ token, source, node, page, count, access, backed }: Readonly<Transfer>): Status {
    const from = source < 0 ? sources[source + 2] : name(source);
    this.log.push(
      `${name(node)} gets ${page}+${count} from ${from} as ${rights[access]}${backed ? ', backed' : ''}`,
    );
    const status = this.transferStatus(source, node, count);
    if (status === Status.Pending) this.pending.push(token);
    return status;
  }
  remap(): Status {
    return Status.Done;
  }
  cover(_token: number, processor: number, page: number): Status {
    this.log.push(`${name(processor)} covers ${page}`);
    return Status.Done;
  }
  release(token: number, node: number, page: number, count: number): Status {
    this.log.push(`${name(node)} release ${page}+${count}`);
    if (this.releaseStatus === Status.Pending) this.pending.push(token);
    return this.releaseStatus;
  }
  wake(processor: number, page: number, count: number): void {
    this.log.push(`${name(processor)} wake ${page}+${count}`);
  }
  deny(processor: number, page: number, write: boolean, _thread: number, reason: string): void {
    this.log.push(`${name(processor)} denied ${write ? 'write' : 'read'} ${page} ${reason}`);
  }
  requestDone(request: number, pages: number, failure: string | null): void {
    this.log.push(`request ${request} done, ${pages}${failure === null ? '' : ` ${failure}`}`);
  }
  drained(processor: number): Status {
    this.log.push(`${name(processor)} drained`);
    return Status.Done;
  }
  emptied(node: number): void {
    this.log.push(`${name(node)} emptied`);
  }
  want(page: number, write: boolean): void {
    this.log.push(`want ${page}${write ? ' to write' : ''}`);
  }

  breakCopyOnWrite(page: number, count: number, lastChance: boolean): void {
    this.log.push(`break copy-on-write ${page}+${count}${lastChance ? ', the last chance' : ''}`);
  }
  invalidate(page: number, count: number, reason: string, owner: number): void {
    this.log.push(`invalidate ${page}+${count} ${reason} for ${name(owner)}`);
  }
  invalidated(page: number, count: number, reason: string, owner: number): void {
    this.log.push(`invalidated ${page}+${count} ${reason} for ${name(owner)}`);
  }

  /** What was asked for since the last time. */
  take(): string[] {
    return this.log.splice(0);
  }
}

function name(processor: number): string {
  return ['host', 'dev', 'dev2'][processor];
}

const faulting = deviceOf(16, { name: 'faulting' });
const pooled: DeviceDescription = {
  ...faulting,
  name: 'pooled',
  frames: 'pooled',
  faults: false,
  addressable: false,
  units: 0,
  memorySurvives: false,
};

/** Adds a processor with memory of its own, whose pages go home to the host's. */
function addDevice(manager: OpenManager, description: DeviceDescription): ProcessorId {
  const home = manager.state.nodes[HOST_NODE] === undefined ? NO_NODE : HOST_NODE;
  return manager.addDevice(description, home).processor;
}

describe('MemoryManager', () => {
  let commands: Recorder;
  let manager: OpenManager;
  const start = (...devices: Partial<DeviceDescription>[]): void => startWith(none, {}, ...devices);
  const startWith = (
    prefetch: PrefetchPolicy,
    host: Partial<DeviceDescription>,
    ...devices: Partial<DeviceDescription>[]
  ): void => {
    commands = new Recorder();
    manager = new OpenManager(commands, { ...namedPolicies(), prefetch: () => prefetch }, 64);
    addDevice(manager, { ...faulting, name: 'host', ...host });
    for (const device of devices) addDevice(manager, { ...faulting, ...device });
  };
  const allocate = (
    pages: number,
    about: { provided?: boolean; writable?: boolean } = {},
  ): number => allocateIn(manager, pages, about);
  const event = (act: () => void): string[] => {
    act();
    checkInvariants(manager.state);
    return commands.take();
  };
  const fault = (processor: number, page: number, write: boolean, thread = 0): string[] =>
    event(() => manager.fault(processor, page, write, thread));
  const backed = (processor: number): number => manager.state.nodes[processor]?.backedPages ?? -1;

  beforeEach(() => start({}));

  it('refuses a budget in which threads could take each other their pages for ever', () => {
    expect(() => addDevice(manager, { ...faulting, units: 3, budgetPages: 4 * BLOCK - 1 })).toThrow(
      /at least 2048 pages/,
    );
    expect(addDevice(manager, { ...faulting, units: 3, budgetPages: 4 * BLOCK })).toBe(2);
  });

  it('calls a page absent that its file must give, also where it is protected or pinned', () => {
    const first = allocate(10, { provided: true });
    fault(HOST, first, false);
    fault(HOST, first + 1, true);
    manager.pin(first, 4, true);
    manager.protect(1, first + 3, 2, Access.None);
    const isAbsent = (page: number): boolean => manager.pages.isAbsent(first + page);
    expect([0, 1, 2, 3, 4, 5].map(isAbsent)).toEqual([false, false, true, true, true, true]);
    event(() => manager.drop(2, first, 10, true));
    expect([0, 1, 2, 3, 4, 5].map(isAbsent)).toEqual([true, true, true, true, true, true]);
    event(() => manager.free(3, first, 3));
    expect([0, 1, 2, 3, 4, 5].map(isAbsent)).toEqual([false, false, false, true, true, true]);
  });

  it('finds the first page of a kind as a look at each page does', () => {
    const first = allocate(5 * BLOCK);
    const end = first + 5 * BLOCK;
    manager.free(1, first + BLOCK - 3, 2 * BLOCK);
    manager.protect(2, first + 3 * BLOCK + 7, 9, Access.None);
    manager.pin(first + 4 * BLOCK + 1, 2, true);
    const flags = new Uint8Array(end - first);
    manager.pages.snapshot(
      first,
      new Uint32Array(flags.length),
      new Uint32Array(flags.length),
      flags,
    );
    const { pages } = manager;
    const kinds: [flag: number, wanted: boolean, find: (from: number) => number][] = [
      [PageState.Freed, true, (from) => pages.firstFreed(from, end)],
      [PageState.Freed, false, (from) => pages.firstKept(from, end)],
      [PageState.NoAccess, true, (from) => pages.firstDenied('NO_ACCESS', from, end)],
      [PageState.ReadOnly, true, (from) => pages.firstDenied('READ_ONLY', from, end)],
      [PageState.Pinned, true, (from) => pages.firstDenied('PINNED', from, end)],
    ];
    for (const [flag, wanted, find] of kinds) {
      const wrong: number[] = [];
      let next = -1;
      for (let from = end - 1; from >= first; from--) {
        if (((flags[from - first] & flag) !== 0) === wanted) next = from;
        if (find(from) !== next) wrong.push(from);
      }
      expect(wrong, `${flag}`).toEqual([]);
    }
    expect(pages.firstFreed(first, first + BLOCK - 3)).toBe(-1);
  });

  describe('a node that is full', () => {
    /**
     * Launches that each read the whole table and one block of data, which is larger than the node;
     * returns what they evict.
     */
    const evictedBy = (table: number, blocks: number): Set<number> => {
      startWith(({ allowed, result }) => result.set(allowed), {}, { budgetPages: 6 * BLOCK });
      const first = allocate(table * BLOCK);
      const data = allocate(16 * BLOCK);
      const evicted = new Set<number>();
      for (let block = 0; block < 16; block++) {
        const part = { first: data + block * BLOCK, count: BLOCK, use: 'in' as const };
        manager.launchBegin(block, 1, [{ first, count: blocks * BLOCK, use: 'in' }, part]);
        const faults =
          block === 0 ? Array.from({ length: blocks }, (_, index) => first + index * BLOCK) : [];
        for (const page of [...faults, part.first]) manager.fault(1, page, false, 0);
        manager.launchEnd(block);
        for (const line of event(() => undefined)) {
          const [, at] = /^dev release (\d+)/.exec(line) ?? [];
          if (at !== undefined) evicted.add(Math.floor(Number(at) / BLOCK));
        }
      }
      return evicted;
    };

    it('keeps what every launch has as an argument, though it faults no more', () => {
      const evicted = evictedBy(2, 2);
      expect(evicted.size).toBeGreaterThan(8);
      expect(evicted.has(0) || evicted.has(1)).toBe(false);
    });

    it('lets go of an argument that would take most of it', () => {
      expect(evictedBy(4, 4).has(0)).toBe(true);
    });
  });

  describe('a fault', () => {
    it('on a page that nobody has touched gives a page of zeros, and the next group with the pattern', () => {
      allocate(100);
      expect(fault(HOST, 5, false)).toEqual(['host gets 5+1 from zero as read']);
      startWith(pattern(), {}, {});
      allocate(100);
      expect(fault(HOST, 21, false)).toEqual(['host gets 16+16 from zero as read']);
      expect(fault(HOST, 99, true)).toEqual(['host gets 96+4 from zero as write']);
    });

    it('upgrades a page that is there to read, without a copy', () => {
      allocate(10);
      fault(HOST, 5, false);
      expect(fault(HOST, 5, true)).toEqual(['host map 5+1 read>write']);
    });

    it('gives write access at once to who owns a written page alone', () => {
      allocate(10);
      fault(HOST, 5, true);
      fault(1, 5, false);
      fault(1, 5, true);
      expect(fault(HOST, 5, false)).toEqual([
        'dev revoke 5+1 to read',
        'host gets 5+1 from dev as read, backed',
      ]);
      fault(HOST, 5, true);
      const mapping = manager.state.va.blocks.get(0)?.mappings[HOST];
      mapping?.mapped.fill(0);
      mapping?.writable.fill(0);
      expect(fault(HOST, 5, false)).toEqual(['host map 5+1 none>write']);
    });

    it('that comes twice, or too late, only wakes', () => {
      allocate(10);
      fault(HOST, 5, true);
      expect(fault(HOST, 5, true)).toEqual(['host wake 5+1']);
      expect(fault(HOST, 5, false)).toEqual(['host wake 5+1']);
      expect(manager.figures(HOST).counters).toMatchObject({
        writeFaults: 2,
        readFaults: 1,
        repeatedFaults: 2,
      });
    });

    it('outside of every range, or past the end of one, is denied', () => {
      allocate(10);
      expect(fault(HOST, 10, false)).toEqual(['host denied read 10 OUTSIDE']);
      expect(fault(HOST, 5 * BLOCK, true)).toEqual([`host denied write ${5 * BLOCK} OUTSIDE`]);
    });

    it('is kept while an operation runs, and served when it has ended', () => {
      allocate(BLOCK);
      commands.transferStatus = () => Status.Pending;
      expect(fault(HOST, 1, false, 0)).toHaveLength(1);
      expect(fault(HOST, 2, false, 1)).toEqual([]);
      expect(event(() => manager.transferred(commands.pending[0], Status.Done))).toEqual([
        'host gets 2+1 from zero as read',
      ]);
    });

    it('is answered by nobody before the copy has ended', () => {
      allocate(10);
      fault(HOST, 3, true);
      commands.transferStatus = () => Status.Pending;
      expect(fault(1, 3, false)).toEqual([
        'host revoke 3+1 to read',
        'dev gets 3+1 from host as read',
      ]);
      expect(fault(1, 3, false)).toEqual([]);
      const mapping = manager.state.va.blocks.get(0)?.mappings[1];
      expect(mapping !== undefined && has(mapping.mapped, 3)).toBe(false);
      event(() => manager.transferred(commands.pending[0], Status.Done));
      expect(mapping !== undefined && has(mapping.mapped, 3)).toBe(true);
      expect(fault(1, 3, false)).toEqual(['dev wake 3+1']);
    });

    it('leaves what the writer had to blocks that need room, once all of it has gone stale', () => {
      const block = allocate(10) / BLOCK;
      for (const page of [3, 4]) fault(HOST, page, true);
      const unused = manager.state.nodes[HOST_NODE]?.unused;
      fault(1, 3, true);
      expect(unused?.has(block)).toBe(false);
      fault(1, 4, true);
      expect(unused?.has(block)).toBe(true);
    });

    it('copies nothing until the writer has really lost its right', () => {
      allocate(10);
      fault(HOST, 3, true);
      commands.revokeStatus = Status.Pending;
      expect(fault(1, 3, true)).toEqual(['host revoke 3+1 to none']);
      expect(event(() => manager.revoked(commands.pending[0]))).toEqual([
        'dev gets 3+1 from host as write',
      ]);
    });
  });

  describe('protection', () => {
    it('takes rights away before it holds, and tells what it denies', () => {
      allocate(10);
      fault(HOST, 3, true);
      commands.revokeStatus = Status.Pending;
      expect(event(() => manager.protect(1, 0, 10, Access.Read))).toEqual([
        'host revoke 3+1 to read',
      ]);
      expect(event(() => manager.revoked(commands.pending[0]))).toEqual(['request 1 done, 10']);
      expect(fault(HOST, 3, true)).toEqual(['host denied write 3 READ_ONLY']);
      expect(fault(1, 4, true)).toEqual([
        'dev denied write 4 READ_ONLY',
        'dev gets 4+1 from zero as write',
      ]);
      commands.revokeStatus = Status.Done;
      event(() => manager.protect(2, 0, 10, Access.None));
      expect(fault(HOST, 3, false)).toEqual(['host denied read 3 NO_ACCESS']);
      expect(event(() => manager.protect(3, 0, 10, Access.Write))).toEqual(['request 3 done, 10']);
      expect(fault(HOST, 3, true)).toEqual(['host map 3+1 none>write']);
    });

    it('of a page waits until a hold of its block ends, before the block leaves a device', () => {
      allocate(10);
      fault(1, 3, true);
      fault(1, 5, true);
      event(() => manager.bring(1, 1, 5, 1, Access.Read, { hold: true }));
      event(() => manager.protect(2, 3, 1, Access.None));
      expect(fault(1, 3, false)).toEqual([]);
      expect(event(() => manager.release(1, 5, 1, Access.Read))).toContain(
        'dev denied read 3 NO_ACCESS',
      );
    });

    it('of pages that nobody has touched costs nothing and holds all the same', () => {
      allocate(40 * BLOCK);
      event(() => manager.protect(1, 5, 30 * BLOCK, Access.Read));
      expect(manager.state.va.blocks.size).toBe(0);
      expect(fault(HOST, 20 * BLOCK, true)).toEqual([`host denied write ${20 * BLOCK} READ_ONLY`]);
      expect(fault(HOST, 4, true)).toEqual(['host gets 4+1 from zero as write']);
    });

    it('leaves what a launch would empty', () => {
      allocate(10);
      fault(HOST, 3, true);
      event(() => manager.protect(1, 0, 1, Access.Read));
      event(() => manager.launchBegin(7, 1, [{ first: 0, count: 10, use: 'out' }]));
      expect(fault(1, 3, false)).toEqual([
        'host revoke 3+1 to read',
        'dev gets 3+1 from host as read',
      ]);
    });
  });

  describe('a clone', () => {
    it('lets its source be written when it has the page, and not before', () => {
      const source = allocate(10);
      fault(HOST, source + 3, true);
      const clone = allocate(10, { provided: true });
      expect(event(() => manager.copyOnWrite(1, source, 10))).toEqual([
        'host revoke 3+1 to read',
        'request 1 done, 10',
      ]);
      expect(fault(HOST, source + 3, true)).toEqual([`break copy-on-write ${source}+10`]);
      expect(fault(1, source + 4, true)).toEqual([]);
      expect(event(() => manager.materialize(2, clone + 3, 1, false))).toEqual([
        `host gets ${clone + 3}+1 from provider as none`,
        'request 2 done, 1',
      ]);
      expect(manager.pages.isInherited(clone + 3)).toBe(false);
      expect(manager.pages.isInherited(clone + 4)).toBe(true);
      expect(event(() => manager.copyOnWriteBroken(source, 10, null))).toEqual([
        'host map 3+1 read>write',
        `dev gets ${source + 4}+1 from zero as write`,
      ]);
    });

    it('has none of its source brought for a page that it has written, which a launch may hold', () => {
      start(pooled);
      const clone = allocate(2, { provided: true });
      event(() => manager.launchBegin(1, 1, [{ first: clone, count: 1, use: 'inout' }]));
      expect(event(() => manager.materialize(2, clone, 2, false))).toEqual([
        `host gets ${clone + 1}+1 from provider as none`,
        'request 2 done, 2',
      ]);
    });

    it('has its source keep what has come to be written until it has been copied, though others need room', () => {
      startWith(none, { budgetPages: 2 * BLOCK });
      event(() => manager.acquire(1, HOST, allocate(BLOCK), BLOCK, Access.Write));
      const source = allocate(2 * BLOCK, { provided: true });
      event(() => manager.copyOnWrite(2, source, 2 * BLOCK));
      let copies = 0;
      commands.transferStatus = () => {
        if (++copies > BLOCK) throw new Error('two blocks push each other out for ever');
        return Status.Done;
      };
      const log = event(() => manager.acquire(3, HOST, source, 2 * BLOCK, Access.Write));
      expect(log.at(-1)).toBe(`break copy-on-write ${source}+${BLOCK}`);
      expect(log.some((line) => line.startsWith('host release'))).toBe(false);
    });
  });

  describe('a clone that could not be given a page of its source', () => {
    let source = 0;
    let clone = 0;
    beforeEach(() => {
      source = allocate(10);
      clone = allocate(10, { provided: true });
      fault(HOST, source + 3, true);
      event(() => manager.copyOnWrite(1, source, 10));
    });

    it('has whoever would write the page refused, and not lost it', () => {
      fault(1, source + 3, true);
      commands.transferStatus = (from) => (from === -2 ? Status.Refused : Status.Done);
      event(() => manager.materialize(2, clone + 3, 1, false));
      expect(manager.pages.isInherited(clone + 3)).toBe(true);
      expect(event(() => manager.copyOnWriteBroken(source, 10, 'OUT_OF_MEMORY'))).toEqual([
        `dev denied write ${source + 3} OUT_OF_MEMORY`,
        `dev gets ${source + 3}+1 from zero as write`,
      ]);
      event(() => manager.bring(3, HOST_NODE, source + 3, 1, Access.Write, { hold: true }));
      expect(event(() => manager.copyOnWriteBroken(source + 3, 1, 'ACCESS_REFUSED'))).toEqual([
        'request 3 done, 0 ACCESS_REFUSED',
      ]);
    });

    it('is asked again at the next write', () => {
      fault(HOST, source + 3, true);
      event(() => manager.copyOnWriteBroken(source, 10, 'OUT_OF_MEMORY'));
      expect(fault(HOST, source + 3, true)).toEqual([`break copy-on-write ${source}+10`]);
      expect(event(() => manager.copyOnWriteBroken(source, 10, null))).toEqual([
        'host map 3+1 read>write',
      ]);
    });

    it('has lost it when the source forgets it', () => {
      expect(event(() => manager.zero(2, source + 3, 1))).toEqual([
        `break copy-on-write ${source + 3}+1, the last chance`,
      ]);
      commands.transferStatus = () => Status.Refused;
      event(() => manager.materialize(3, clone + 3, 1, true));
      expect(manager.pages.lossOf(clone + 3)).toBe('ACCESS_REFUSED');
    });

    it('keeps a drop of its source waiting, though the only copy dies with its device', () => {
      start({ memorySurvives: false });
      const file = allocate(10, { provided: true });
      fault(1, file + 4, false);
      event(() => manager.copyOnWrite(2, file, 10));
      expect(event(() => manager.drop(3, file, 10, false))).toEqual([
        `break copy-on-write ${file + 4}+1, the last chance`,
      ]);
      expect(event(() => manager.processorLost(1))).not.toContain('request 3 done, 10');
      expect(event(() => manager.copyOnWriteBroken(file + 4, 1, null))).toContain(
        'request 3 done, 10',
      );
    });

    it('loses only what its source forgets where that is read from its file again', () => {
      const file = allocate(10, { provided: true });
      fault(HOST, file + 3, true);
      fault(HOST, file + 4, false);
      event(() => manager.copyOnWrite(2, file, 10));
      expect(event(() => manager.drop(3, file, 10, false))).toEqual([
        `break copy-on-write ${file + 4}+1, the last chance`,
      ]);
      expect(event(() => manager.copyOnWriteBroken(file + 4, 1, null)).at(-1)).toBe(
        'request 3 done, 10',
      );
      expect(event(() => manager.drop(4, file, 10, true))).toEqual([
        `break copy-on-write ${file + 3}+1, the last chance`,
      ]);
    });

    it('has it from there also when nobody may read it there any more', () => {
      expect(event(() => manager.protect(2, source, 10, Access.None))).toEqual([
        'host revoke 3+1 to none',
        'request 2 done, 10',
      ]);
      const held = { hold: true, overtakes: true };
      expect(event(() => manager.bring(3, HOST_NODE, source + 3, 1, Access.Read, held))).toEqual([
        'request 3 done, 1',
      ]);
      expect(fault(HOST, source + 3, false)).toEqual([`host denied read ${source + 3} NO_ACCESS`]);
    });
  });

  describe('a processor that was advised accessedBy', () => {
    const advised = (pages: number): Range => {
      start({ remoteAccess: true });
      const range = manager.allocate(pages, {
        name: 'a',
        provided: false,
        writable: true,
      }) as Range;
      manager.advise(range, 0, pages, { accessedBy: 2 });
      return range;
    };

    it('gets mappings of host memory, together with the host', () => {
      advised(BLOCK);
      fault(HOST, 3, true);
      expect(event(() => manager.arrange(1, 1, [{ first: 0, count: BLOCK }]))).toEqual([
        'request 1 done, 512',
      ]);
      expect(fault(1, 3, true)).toEqual(['dev map 3+1 none>write']);
      // What the host lacks comes there, and to no other node.
      expect(fault(1, 4, false)).toEqual([
        'host gets 4+1 from zero as none',
        'dev map 4+1 none>read',
      ]);
      expect(backed(1)).toBe(0);
      expect(fault(HOST, 4, true)).toEqual(['host map 4+1 none>write']);
    });

    it('is advised block by block, also where the range grows within a block', () => {
      start({ remoteAccess: true });
      const range = manager.allocate(
        300,
        { name: 'a', provided: false, writable: true },
        632,
      ) as Range;
      manager.advise(range, 0, 300, { accessedBy: 2 });
      manager.grow(range, 300, 600);
      fault(HOST, BLOCK, true);
      manager.advise(range, 0, 600, { pattern: 'random' });
      expect([...manager.state.va.blocks.values()].map(({ advice }) => advice.pattern)).toEqual([
        'random',
      ]);
      expect(range.advice.at(400)).toEqual({ ...range.advice.at(0) });
    });

    it('loses them when another node writes', () => {
      start({ remoteAccess: true }, { name: 'far' });
      const range = manager.allocate(BLOCK, {
        name: 'a',
        provided: false,
        writable: true,
      }) as Range;
      manager.advise(range, 0, BLOCK, { accessedBy: 2 });
      event(() => manager.arrange(1, 1, [{ first: 0, count: BLOCK }]));
      fault(1, 3, true);
      expect(fault(2, 3, true)).toEqual([
        'dev revoke 3+1 to none',
        'dev2 gets 3+1 from host as write',
      ]);
      expect(fault(1, 3, true)).toEqual([
        'dev2 revoke 3+1 to none',
        'host gets 3+1 from dev2 as none, backed',
        'dev map 3+1 none>write',
      ]);
    });

    it('still does at addresses that were given back, until they are remapped', () => {
      const range = advised(BLOCK);
      event(() => manager.arrange(1, 1, [{ first: range.first, count: BLOCK }]));
      fault(1, range.first, true);
      event(() => manager.free(2, range.first, BLOCK));
      // A late reader is given a page of its own, which is there until the block is remapped.
      expect(fault(1, range.first, false)).toEqual([
        `dev denied read ${range.first} FREED`,
        `dev covers ${range.first}`,
        `dev wake ${range.first}+1`,
      ]);
      expect(manager.recycle(range)).toBe(true);
      let again = manager.allocate(BLOCK, { name: 'b', provided: false, writable: true }) as Range;
      while (again.first !== range.first)
        again = manager.allocate(BLOCK, { name: 'b', provided: false, writable: true }) as Range;
      expect(manager.pages.isRemote(1, again.first)).toBe(true);
      event(() => manager.arrange(3, 1, [{ first: again.first, count: BLOCK }]));
      expect(manager.pages.isRemote(1, again.first)).toBe(false);
      expect(fault(1, again.first, true)).toEqual([`dev gets ${again.first}+1 from zero as write`]);
      checkInvariants(manager.state);
    });

    it('gets no more than 8,192 blocks, and has the others migrate', () => {
      commands = new Recorder();
      manager = new OpenManager(commands, namedPolicies({ prefetch: 'none' }), 10_000);
      addDevice(manager, { ...faulting, name: 'host' });
      addDevice(manager, { ...faulting, remoteAccess: true });
      const range = manager.allocate(8200 * BLOCK, {
        name: 'a',
        provided: false,
        writable: true,
      }) as Range;
      manager.advise(range, 0, range.pages, { accessedBy: 2 });
      manager.arrange(1, 1, [{ first: 0, count: range.pages }]);
      expect(manager.pages.remoteness(1, 0, range.pages)).toBe('partly');
      expect(
        [...manager.state.va.blocks.values()].filter(
          ({ mappings }) => mappings[1]?.remapped === true,
        ),
      ).toHaveLength(8192);
      manager.advise(range, 0, range.pages, { accessedBy: 0 });
      manager.arrange(2, 1, [{ first: 0, count: range.pages }]);
      expect(manager.pages.remoteness(1, 0, range.pages)).toBe('migrates');
      expect(manager.state.processors[1]?.remoteBlocks).toBe(0);
    });
  });

  it('pins what is on the host, and lets no device write it', () => {
    allocate(10);
    fault(HOST, 3, true);
    manager.pin(0, 10, true);
    expect(fault(1, 3, false)).toEqual([
      'host revoke 3+1 to read',
      'dev gets 3+1 from host as read',
    ]);
    expect(fault(1, 3, true)[0]).toBe('dev denied write 3 PINNED');
    manager.pin(0, 10, false);
    expect(fault(1, 4, true)).toEqual(['dev gets 4+1 from zero as write']);
  });

  it('tells the subscribers of a watched range what is taken, before it is, and nobody else', () => {
    const range = manager.allocate(10, { name: 'a', provided: false, writable: true }) as Range;
    fault(HOST, 3, true);
    range.watchers = 1;
    expect(fault(1, 3, true)).toEqual([
      'invalidate 3+1 migrate for dev',
      'host revoke 3+1 to none',
      'dev gets 3+1 from host as write',
      'invalidated 3+1 migrate for dev',
    ]);
    expect(event(() => manager.protect(1, 0, 10, Access.Write))).toEqual(['request 1 done, 10']);
    range.watchers = 0;
    expect(fault(HOST, 3, true)).toHaveLength(2);
  });

  it('tells subscribers of content that is forgotten, also where nobody has it, and of zeros that stay zeros only who has them', () => {
    const watched = (provided: boolean): number => {
      const range = manager.allocate(10, { name: 'a', provided, writable: true }) as Range;
      manager.watch(range, 1);
      return range.first;
    };
    const told = (act: () => void): string[] =>
      event(act).filter((line) => line.startsWith('invalidate '));
    const first = watched(false);
    fault(HOST, first + 3, true);
    fault(HOST, first + 6, false);
    expect(told(() => manager.zero(1, first, 10))).toEqual([
      `invalidate ${first + 3}+4 discard for host`,
    ]);
    expect(told(() => manager.zero(2, first, 10))).toEqual([]);
    const file = watched(true);
    expect(told(() => manager.zero(3, file + 2, 3))).toEqual([
      `invalidate ${file + 2}+3 discard for host`,
    ]);
    expect(told(() => manager.zero(4, file + 2, 3))).toEqual([]);
    expect(told(() => manager.zero(5, file + 3, 4))).toEqual([
      `invalidate ${file + 5}+2 discard for host`,
    ]);
  });

  it('tells subscribers of all pages that are freed, once', () => {
    const range = manager.allocate(10, { name: 'a', provided: false, writable: true }) as Range;
    manager.watch(range, 1);
    expect(event(() => manager.free(1, 2, 3))).toEqual([
      'invalidate 2+3 unmap for host',
      'invalidated 2+3 unmap for host',
      'request 1 done, 3',
    ]);
    expect(event(() => manager.free(2, 3, 4))[0]).toBe('invalidate 5+2 unmap for host');
    expect(event(() => manager.free(3, 2, 5))).toEqual(['request 3 done, 5']);
  });

  describe('a page that moves', () => {
    it('leaves its memory behind, and needs none when it comes back', () => {
      allocate(10);
      fault(HOST, 3, true);
      expect(fault(1, 3, true)).toEqual([
        'host revoke 3+1 to none',
        'dev gets 3+1 from host as write',
      ]);
      expect([backed(HOST), backed(1)]).toEqual([1, 1]);
      expect(fault(HOST, 3, true)).toEqual([
        'dev revoke 3+1 to none',
        'host gets 3+1 from dev as write, backed',
      ]);
      expect([backed(HOST), backed(1)]).toEqual([1, 1]);
    });

    it('may be read at several places, and written at one', () => {
      start({}, {});
      allocate(10);
      fault(HOST, 3, true);
      fault(1, 3, false);
      expect(fault(2, 3, false)).toEqual(['dev2 gets 3+1 from host as read']);
      expect(fault(1, 3, true)).toEqual([
        'host revoke 3+1 to none',
        'dev2 revoke 3+1 to none',
        'dev map 3+1 read>write',
      ]);
    });

    it('comes from its provider while nobody has written it, and from its owner afterwards', () => {
      allocate(10, { provided: true });
      expect(fault(HOST, 3, false)).toEqual(['host gets 3+1 from provider as read']);
      expect(fault(1, 4, true)).toEqual(['dev gets 4+1 from provider as write']);
      expect(fault(HOST, 4, false)).toEqual([
        'dev revoke 4+1 to read',
        'host gets 4+1 from dev as read',
      ]);
    });

    it('goes by the host between two memories that the manager cannot address', () => {
      start(pooled, pooled);
      const page = allocate(BLOCK);
      event(() => manager.acquire(1, 1, page, 4, Access.Write));
      expect(event(() => manager.acquire(2, 2, page, 4, Access.Read))).toEqual([
        'dev revoke 0+4 to read',
        'host gets 0+4 from dev as none',
        'dev2 gets 0+4 from host as read',
        'request 2 done, 4',
      ]);
    });
  });

  describe('want of memory', () => {
    /** A device of two blocks, and pages enough for three. */
    const fill = (write: boolean): number => {
      start({ budgetPages: 2 * BLOCK });
      const first = allocate(3 * BLOCK);
      for (let block = 0; block < 2; block++) {
        event(() =>
          manager.acquire(1, 1, first + block * BLOCK, BLOCK, write ? Access.Write : Access.Read),
        );
      }
      return first;
    };

    it('copies out what was written and nothing else', () => {
      const first = fill(false);
      fault(1, first + 7, true);
      expect(fault(1, first + 2 * BLOCK, false)).toEqual([
        `dev release ${BLOCK}+${BLOCK}`,
        `dev gets ${2 * BLOCK}+1 from zero as read`,
      ]);
      expect(
        event(() => manager.acquire(2, 1, first + BLOCK, BLOCK, Access.Read)).slice(0, 3),
      ).toEqual([
        'dev revoke 7+1 to read',
        'host gets 7+1 from dev as none',
        `dev release 0+${BLOCK}`,
      ]);
      expect(backed(HOST)).toBe(1);
    });

    it('drops what has a copy at home', () => {
      const first = fill(true);
      event(() => manager.acquire(2, HOST, first, BLOCK, Access.Read));
      event(() => manager.used(1, first + BLOCK));
      expect(fault(1, first + 2 * BLOCK, false)[0]).toBe(`dev release 0+${BLOCK}`);
    });

    it('takes memory with old content before anything else', () => {
      const first = fill(true);
      event(() => manager.acquire(2, HOST, first + BLOCK, BLOCK, Access.Write));
      event(() => manager.used(1, first));
      expect(fault(1, first + 2 * BLOCK, false)[0]).toBe(`dev release ${BLOCK}+${BLOCK}`);
    });

    it('keeps pages whose copy failed', () => {
      const first = fill(true);
      const page = first + 2 * BLOCK;
      commands.transferStatus = (source) => (source === 1 ? Status.Failed : Status.Done);
      const log = fault(1, page, false);
      expect(log.some((line) => line.startsWith('dev release'))).toBe(false);
      expect(log.at(-1)).toBe(`dev denied read ${page} OUT_OF_MEMORY`);
      expect(backed(1)).toBe(2 * BLOCK);
      commands.transferStatus = () => Status.Done;
      expect(fault(1, page, false).at(-1)).toBe(`dev gets ${page}+1 from zero as read`);
    });

    it('is told to who asked, not met with a wait for ever', () => {
      startWith(none, { budgetPages: 2 * BLOCK }, {});
      const first = allocate(3 * BLOCK);
      event(() => manager.acquire(1, HOST, first, 2 * BLOCK, Access.Write));
      expect(event(() => manager.acquire(2, HOST, first + 2 * BLOCK, 1, Access.Read))).toEqual([
        'request 2 done, 0 OUT_OF_MEMORY',
      ]);
      expect(fault(HOST, first + 2 * BLOCK, false)).toEqual([
        `host denied read ${first + 2 * BLOCK} OUT_OF_MEMORY`,
      ]);
    });

    it('evicts nothing that a thread has just been given', () => {
      start({ budgetPages: 3 * BLOCK, units: 2 });
      const first = allocate(6 * BLOCK);
      fault(1, first, true, 7);
      for (let block = 1; block < 5; block++) {
        const log = event(() =>
          manager.acquire(block, 1, first + block * BLOCK, BLOCK, Access.Write),
        );
        expect(log.some((line) => line.startsWith('dev release 0+'))).toBe(false);
      }
      // The thread has gone on.
      fault(1, first + 5 * BLOCK, false, 7);
      const log = event(() => manager.acquire(9, 1, first + BLOCK, 2 * BLOCK, Access.Read));
      expect(log).toContain('dev release 0+1');
    });
  });

  describe('a hold', () => {
    it('keeps others from writing until it ends, and lets them read', () => {
      allocate(10);
      event(() => manager.bring(1, HOST_NODE, 0, 4, Access.Read, { hold: true }));
      expect(fault(1, 2, false)).toEqual(['dev gets 2+1 from zero as read']);
      expect(fault(1, 2, true)).toEqual([]);
      expect(event(() => manager.release(HOST_NODE, 0, 4, Access.Read))).toEqual([
        'dev map 2+1 read>write',
      ]);
    });

    it('that fails holds nothing', () => {
      start({ ...pooled, budgetPages: BLOCK });
      const first = allocate(2 * BLOCK);
      expect(
        event(() => manager.acquire(1, 1, first, 2 * BLOCK, Access.Write, { hold: true })).at(-1),
      ).toMatch(/request 1 done, \d+ OUT_OF_MEMORY/);
      expect(manager.state.holds).toBe(0);
      expect(fault(HOST, first, true)).toEqual([
        'dev revoke 0+1 to none',
        'host gets 0+1 from dev as write',
      ]);
    });

    it('of two that want the same blocks is never half there on both sides', () => {
      start(pooled, pooled);
      const first = allocate(2 * BLOCK);
      commands.transferStatus = () => Status.Pending;
      const both = [
        { first, count: BLOCK, use: 'inout' },
        { first: first + BLOCK, count: BLOCK, use: 'inout' },
      ] as const;
      event(() => manager.launchBegin(1, 1, both));
      event(() => manager.launchBegin(2, 2, [both[1], both[0]]));
      const log: string[] = [];
      for (
        let token = commands.pending.shift();
        token !== undefined;
        token = commands.pending.shift()
      ) {
        const next = token;
        log.push(...event(() => manager.transferred(next, Status.Done)));
        if (log.includes('request 1 done, 0')) break;
      }
      expect(log).toContain('request 1 done, 0');
      expect(log).not.toContain('request 2 done, 0');
      log.push(...event(() => manager.launchEnd(1)));
      for (
        let token = commands.pending.shift();
        token !== undefined;
        token = commands.pending.shift()
      ) {
        const next = token;
        log.push(...event(() => manager.transferred(next, Status.Done)));
      }
      expect(log.at(-1)).toBe('request 2 done, 0');
      event(() => manager.launchEnd(2));
      expect(manager.state.holds).toBe(0);
    });
  });

  describe('what was given back', () => {
    it('reads as zero when it was emptied, whatever its provider would say', () => {
      allocate(10, { provided: true });
      fault(HOST, 3, true);
      expect(event(() => manager.zero(1, 0, 10))).toEqual([
        'host revoke 3+1 to none',
        'request 1 done, 10',
      ]);
      expect(fault(HOST, 3, false)).toEqual(['host gets 3+1 from zero as read, backed']);
      expect(fault(HOST, 4, false)).toEqual(['host gets 4+1 from zero as read']);
    });

    it('has no memory anywhere, and is denied: a late read of the host gives zeros', () => {
      const first = allocate(10);
      fault(HOST, 3, true);
      fault(1, 3, false);
      expect(event(() => manager.free(1, first, 10))).toEqual([
        'host release 3+1',
        'dev release 3+1',
        'request 1 done, 10',
      ]);
      expect([backed(HOST), backed(1)]).toEqual([0, 0]);
      expect(fault(HOST, 3, true)).toEqual(['host denied write 3 FREED']);
      expect(fault(HOST, 3, false)).toEqual([
        'host denied read 3 FREED',
        'host gets 3+1 from zero as read',
      ]);
      expect(fault(1, 3, false)).toEqual([
        'dev denied read 3 FREED',
        'dev gets 3+1 from zero as write',
      ]);
      const range = manager.state.va.rangeOfPage(first);
      expect(range?.freedPages).toBe(10);
      expect(range !== undefined && manager.recycle(range)).toBe(true);
      expect([backed(HOST), backed(1)]).toEqual([0, 0]);
      checkInvariants(manager.state);
    });

    it('cannot be recycled while somebody holds it', () => {
      const first = allocate(10);
      event(() => manager.bring(1, HOST_NODE, first, 10, Access.Read, { hold: true }));
      const range = manager.state.va.rangeOfPage(first);
      if (range === undefined) throw new Error('the range is gone');
      expect(event(() => manager.free(2, first, 10))).toEqual([]);
      expect(manager.recycle(range)).toBe(false);
      expect(event(() => manager.release(HOST_NODE, first, 10, Access.Read)).at(-1)).toBe(
        'request 2 done, 10',
      );
      expect(manager.recycle(range)).toBe(true);
    });
  });

  describe('a device', () => {
    it('that leaves takes nothing along', () => {
      allocate(10);
      fault(1, 3, true);
      expect(event(() => manager.detach(1))).toEqual([
        'dev revoke 3+1 to read',
        'host gets 3+1 from dev as none',
        'dev release 3+1',
        'dev drained',
      ]);
      expect(fault(HOST, 3, false)).toEqual(['host map 3+1 none>write']);
      expect(addDevice(manager, faulting)).toBe(1);
    });

    it('takes along what was advised about it, and its number is given to the next one', () => {
      start({ remoteAccess: true }, { remoteAccess: true });
      const range = manager.allocate(3 * BLOCK, {
        name: 'a',
        provided: false,
        writable: true,
      }) as Range;
      manager.advise(range, 0, 2 * BLOCK, { accessedBy: 6, preferred: 1, readMostly: true });
      fault(HOST, range.first, true);
      event(() => manager.processorLost(1));
      expect(addDevice(manager, { ...faulting, remoteAccess: true })).toBe(1);
      expect(range.advice.at(0)).toMatchObject({ accessedBy: 4, preferred: -1, readMostly: true });
      expect(manager.state.va.blocks.get(0)?.advice).toMatchObject({
        accessedBy: 4,
        preferred: -1,
      });
      event(() => manager.arrange(1, 1, [{ first: range.first, count: BLOCK }]));
      expect(manager.pages.remoteness(1, range.first, range.first + BLOCK)).toBe('migrates');
      // Advice that was on its way names a device that has gone.
      event(() => manager.detach(2));
      event(() => manager.advise(range, 0, 1, { accessedBy: 6, preferred: 2 }));
      expect(range.advice.at(0)).toMatchObject({ accessedBy: 2, preferred: -1 });
    });

    it('stays until a copy from it has ended, though what it has could not be brought home before', () => {
      start({ memorySurvives: false });
      const first = allocate(2 * BLOCK);
      fault(1, first, true);
      for (const page of [0, 1]) fault(1, first + BLOCK + page, true);
      // The way home of two pages takes long, and that of one fails as often as it is tried.
      commands.transferStatus = (_source, _node, count) =>
        count === 2 ? Status.Pending : Status.Failed;
      event(() => manager.detach(1));
      commands.transferStatus = () => Status.Pending;
      // Now a thread needs a page of the first block, and its copy takes long, too.
      expect(fault(HOST, first, false)).toEqual(['host gets 0+1 from dev as read']);
      const [home, copy] = commands.pending;
      expect(event(() => manager.transferred(home, Status.Done))).toEqual([
        `dev release ${BLOCK}+2`,
      ]);
      expect(addDevice(manager, faulting)).toBe(2);
      commands.transferStatus = () => Status.Lost;
      expect(event(() => manager.transferred(copy, Status.Lost))).toEqual([
        'host release 0+1',
        'host gets 0+1 from dev as none',
        'host release 0+1',
      ]);
      // Its death is told later, and ends all that waits for it.
      expect(event(() => manager.processorLost(1))).toEqual([
        'dev release 0+1',
        'dev drained',
        'host denied read 0 LOST',
      ]);
    });

    it('that dies has its pages brought home as often as ever, though others of the block failed before', () => {
      start({});
      const first = allocate(2);
      fault(1, first, true);
      commands.transferStatus = () => Status.Pending;
      fault(HOST, first + 1, false);
      const answer = (status: Status): void =>
        void event(() => manager.transferred(commands.pending.shift() ?? -1, status));
      for (let time = 1; time < ATTEMPTS; time++) answer(Status.NoMemory);
      event(() => manager.processorLost(1));
      answer(Status.NoMemory);
      answer(Status.NoMemory);
      answer(Status.Done);
      expect(manager.pages.lossOf(first)).toBe(null);
    });

    it('that dies keeps nobody from pages that it held, though others are still on their way home', () => {
      start({});
      const first = allocate(2 * BLOCK);
      event(() => manager.bring(1, 1, first, 1, Access.Write, { hold: true }));
      for (const page of [0, 1]) fault(1, first + BLOCK + page, true);
      commands.transferStatus = (_source, _node, count) =>
        count === 2 ? Status.Pending : Status.Failed;
      event(() => manager.processorLost(1));
      commands.transferStatus = () => Status.Done;
      expect(fault(HOST, first, false)).toEqual(['host gets 0+1 from dev as read']);
    });

    it('that gives up a right to host memory leaves when it has said so', () => {
      start({ remoteAccess: true });
      const named = { name: 'a', provided: false, writable: true };
      const range = manager.allocate(2 * BLOCK, named) as Range;
      manager.advise(range, BLOCK, 2 * BLOCK, { accessedBy: 2 });
      event(() => manager.arrange(1, 1, [{ first: range.first + BLOCK, count: BLOCK }]));
      for (const page of [0, BLOCK]) fault(1, range.first + page, true);
      commands.transferStatus = () => Status.Pending;
      event(() => manager.detach(1));
      commands.revokeStatus = Status.Pending;
      event(() => manager.protect(3, range.first + BLOCK, 10, Access.Read));
      const [home, right] = commands.pending;
      expect(event(() => manager.transferred(home, Status.Done))).not.toContain('dev drained');
      expect(event(() => manager.revoked(right))).toContain('dev drained');
    });

    it('that leaves tells the subscribers of what could not be brought home', () => {
      const range = manager.allocate(10, { name: 'a', provided: false, writable: true }) as Range;
      fault(1, 3, true);
      manager.watch(range, 1);
      commands.transferStatus = () => Status.Failed;
      const log = event(() => manager.detach(1));
      expect(log.slice(-4)).toEqual([
        'invalidate 3+1 migrate for dev',
        'invalidated 3+1 migrate for dev',
        'dev release 3+1',
        'dev drained',
      ]);
      expect(fault(HOST, 3, false)).toEqual(['host denied read 3 LOST']);
    });

    it('is the last of sixteen processors', () => {
      for (let id = 2; id < 16; id++) expect(addDevice(manager, faulting)).toBe(id);
      expect(() => addDevice(manager, faulting)).toThrow(/16 processors already/);
      event(() => manager.detach(7));
      expect(addDevice(manager, faulting)).toBe(7);
    });

    it('waits with what the host has no room for, and goes when there is room', () => {
      startWith(none, { budgetPages: 2 * BLOCK }, {});
      const first = allocate(3 * BLOCK);
      event(() => manager.acquire(1, 1, first + 2 * BLOCK, BLOCK, Access.Write));
      event(() => manager.acquire(2, HOST, first, 2 * BLOCK, Access.Write));
      expect(event(() => manager.detach(1))).toEqual([]);
      expect(event(() => manager.free(3, first, BLOCK)).at(-1)).toBe('dev drained');
    });

    it('that dies keeps the pages of memory that survives', () => {
      allocate(10);
      fault(1, 3, true);
      expect(event(() => manager.processorLost(1))).toEqual([
        'host gets 3+1 from dev as none',
        'dev release 3+1',
        'dev drained',
      ]);
      expect(fault(HOST, 3, false)).toEqual(['host map 3+1 none>write']);
    });

    it('that dies with its memory loses what only it had', () => {
      start({ memorySurvives: false });
      allocate(10);
      fault(1, 3, true);
      fault(1, 4, true);
      fault(HOST, 4, false);
      fault(1, 5, false);
      expect(event(() => manager.processorLost(1)).at(-1)).toBe('dev drained');
      expect(fault(HOST, 3, false)).toEqual(['host denied read 3 LOST']);
      expect(fault(HOST, 4, true)).toEqual(['host map 4+1 read>write']);
      expect(fault(HOST, 5, false)).toEqual(['host gets 5+1 from zero as read']);
      event(() => manager.zero(1, 0, 10));
      expect(fault(HOST, 3, false)).toEqual(['host gets 3+1 from zero as read']);
    });

    it('that dies takes no page along of which another device has a copy, even if that one is about to drop it', () => {
      start({ memorySurvives: false }, { budgetPages: 2 * BLOCK, memorySurvives: false });
      const first = allocate(4 * BLOCK);
      fault(1, first, true);
      fault(2, first, false);
      fault(2, first + 9, true);
      fault(2, first + 3 * BLOCK, false);
      event(() => manager.acquire(1, 2, first + BLOCK, BLOCK, Access.Write));
      commands.transferStatus = () => Status.Pending;
      // Page 9 has to be copied home. Page 0 has not, since the first device has it, too.
      expect(
        event(() => manager.acquire(2, 2, first + 2 * BLOCK, BLOCK, Access.Read)).slice(0, 2),
      ).toEqual(['dev2 revoke 9+1 to read', 'host gets 9+1 from dev2 as none']);
      event(() => manager.processorLost(1));
      const log = event(() => manager.transferred(commands.pending[0], Status.Done));
      expect(log).toEqual(['dev2 release 9+1', 'dev release 0+1']);
      commands.transferStatus = () => Status.Done;
      expect(fault(HOST, first, false)).toEqual(['host gets 0+1 from dev2 as read']);
    });

    it('without faults gets all that a launch needs before it runs, and keeps it until the end', () => {
      start(pooled);
      const first = allocate(2 * BLOCK);
      fault(HOST, first + 1, true);
      expect(
        event(() =>
          manager.launchBegin(9, 1, [
            { first, count: 2, use: 'in' },
            { first: first + BLOCK, count: 1, use: 'out' },
          ]),
        ),
      ).toEqual([
        'host revoke 1+1 to read',
        'dev gets 0+1 from zero as read',
        'dev gets 1+1 from host as read',
        `dev gets ${BLOCK}+1 from zero as write`,
        'request 9 done, 0',
      ]);
      expect(fault(HOST, first + 1, true)).toEqual([]);
      expect(event(() => manager.launchEnd(9))).toEqual([
        'dev revoke 1+1 to none',
        'host map 1+1 read>write',
      ]);
    });

    it('counts whole blocks for a launch, since what else it has of them stays there', () => {
      start(pooled);
      const first = allocate(BLOCK + 10);
      expect(manager.launchPages([{ first: first + BLOCK, count: 2, use: 'in' }], 1)).toBe(10);
      expect(
        manager.launchPages(
          [
            { first, count: 1, use: 'in' },
            { first: first + 5, count: 1, use: 'out' },
          ],
          1,
        ),
      ).toBe(BLOCK);
      expect(manager.launchPages([{ first, count: 0, use: 'in' }], 1)).toBe(0);
    });
  });

  describe('a copy that fails', () => {
    it('is tried again with the page alone, so that what came along harms nobody', () => {
      startWith(pattern(), {}, {});
      allocate(64);
      commands.transferStatus = (_source, _processor, count) =>
        count > 1 ? Status.Failed : Status.Done;
      expect(fault(HOST, 20, false)).toEqual([
        'host gets 16+16 from zero as read',
        'host release 16+16',
        'host gets 20+1 from zero as read',
      ]);
    });

    it('is told to each of two processors whose pages of one block cannot be had', () => {
      allocate(10, { provided: true });
      // What stands in comes from zero.
      commands.transferStatus = (source) => (source === -2 ? Status.Pending : Status.Done);
      fault(HOST, 3, false);
      fault(1, 5, false);
      const log: string[] = [];
      for (let turn = 0; turn < 10 && commands.pending.length > 0; turn++)
        log.push(
          ...event(() => manager.transferred(commands.pending.pop() as number, Status.Refused)),
        );
      expect(log.filter((each) => each.includes('denied'))).toEqual([
        'host denied read 3 ACCESS_REFUSED',
        'dev denied read 5 ACCESS_REFUSED',
      ]);
    });

    it('takes nothing from a clone when it was to be written: the writer alone is told', () => {
      const first = allocate(10, { provided: true });
      event(() => manager.copyOnWrite(1, first, 10));
      commands.transferStatus = () => Status.Refused;
      expect(fault(HOST, 3, true)).toEqual([
        'host gets 3+1 from provider as read',
        'host release 3+1',
        'host denied write 3 ACCESS_REFUSED',
      ]);
      expect(
        event(() => manager.bring(2, HOST_NODE, 4, 1, Access.Write, { hold: true })).at(-1),
      ).toBe('request 2 done, 0 ACCESS_REFUSED');
    });

    it('for good denies the access by its reason', () => {
      allocate(10, { provided: true });
      commands.transferStatus = () => Status.Failed;
      const log = fault(HOST, 3, false);
      expect(log.at(-1)).toBe('host denied read 3 COPY_FAILED');
      expect(log.length).toBeLessThan(20);
      commands.transferStatus = () => Status.SourceChanged;
      expect(fault(HOST, 3, false)).toEqual([
        'host gets 3+1 from provider as read',
        'host release 3+1',
        'host denied read 3 SOURCE_CHANGED',
      ]);
      expect(backed(HOST)).toBe(0);
    });
  });

  describe('pages that are written back', () => {
    const hold = (first: number, count: number): string[] =>
      event(() => manager.bring(1, HOST_NODE, first, count, Access.Read, { hold: true }));
    const dirty = (page: number): boolean =>
      has(manager.state.va.block(0)?.dirty ?? new Int32Array(16), page);

    it('are found run by run, over blocks and past those that nobody touched', () => {
      allocate(4 * BLOCK, { provided: true });
      expect(manager.pages.changedRun(0, 4 * BLOCK, 1000)).toBeNull();
      for (const page of [3, 4, BLOCK - 1, BLOCK, 3 * BLOCK + 7]) fault(HOST, page, true);
      fault(HOST, 6, false);
      expect(manager.pages.changedRun(0, 4 * BLOCK, 1000)).toEqual({ first: 3, count: 2 });
      expect(manager.pages.changedRun(0, 4 * BLOCK, 1)).toEqual({ first: 3, count: 1 });
      expect(manager.pages.changedRun(4, 4 * BLOCK, 1000)).toEqual({ first: 4, count: 1 });
      expect(manager.pages.changedRun(5, 4 * BLOCK, 1000)).toEqual({ first: BLOCK - 1, count: 2 });
      expect(manager.pages.changedRun(5, BLOCK, 1000)).toEqual({ first: BLOCK - 1, count: 1 });
      expect(manager.pages.changedRun(BLOCK + 1, 4 * BLOCK, 1000)).toEqual({
        first: 3 * BLOCK + 7,
        count: 1,
      });
      expect(manager.pages.changedRun(3 * BLOCK + 8, 4 * BLOCK, 1000)).toBeNull();
      // What was emptied differs from its provider, too.
      event(() => manager.zero(1, 2 * BLOCK, 3));
      expect(manager.pages.changedRun(BLOCK + 1, 4 * BLOCK, 1000)).toEqual({
        first: 2 * BLOCK,
        count: 3,
      });
    });

    it('cannot be written unnoticed, not by the host either, and count as clean when it has been done', () => {
      allocate(BLOCK, { provided: true });
      fault(HOST, 3, true);
      fault(1, 4, true);
      hold(3, 2);
      expect(event(() => manager.clean(2, 3, 2))).toEqual([
        'host revoke 3+1 to read',
        'request 2 done, 2',
      ]);
      expect(fault(HOST, 3, true)).toEqual(['host map 3+1 read>write']);
      event(() => manager.cleaned(3, 2, true));
      event(() => manager.release(HOST_NODE, 3, 2, Access.Read));
      expect([dirty(3), dirty(4)]).toEqual([true, false]);
      // What is clean is dropped for want of room, and comes from the provider again.
      event(() => manager.drop(3, 4, 1, false));
      expect(fault(1, 4, false)).toContain('dev gets 4+1 from provider as read, backed');
      // A page that has been emptied is the provider's again when its zeros have been written.
      event(() => manager.zero(4, 4, 1));
      hold(4, 1);
      event(() => manager.clean(5, 4, 1));
      event(() => manager.cleaned(4, 1, true));
      event(() => manager.release(HOST_NODE, 4, 1, Access.Read));
      event(() => manager.drop(6, 4, 1, false));
      expect(fault(1, 4, false)).toContain('dev gets 4+1 from provider as read, backed');
    });

    it('stay changed while somebody holds them to write them without a fault', () => {
      allocate(BLOCK, { provided: true });
      for (const page of [3, 4, BLOCK - 1]) fault(HOST, page, true);
      const hold = (request: number, access: Access, page: number): string[] =>
        event(() => manager.bring(request, HOST_NODE, page, 1, access, { hold: true }));
      hold(1, Access.Read, 3);
      hold(2, Access.Write, 3);
      expect(event(() => manager.clean(3, 3, 1))).toEqual(['request 3 done, 1']);
      event(() => manager.cleaned(3, 1, true));
      expect(dirty(3)).toBe(true);
      event(() => manager.release(HOST_NODE, 3, 1, Access.Write));
      // The other way round: a hold for writing that comes after everything stood still.
      event(() => manager.clean(4, 3, 1));
      hold(5, Access.Write, 3);
      event(() => manager.cleaned(3, 1, true));
      expect(dirty(3)).toBe(true);
      event(() => manager.release(HOST_NODE, 3, 1, Access.Write));
      // A request that waits for the end of holds does not stand in the way of the one that has a
      // hold.
      event(() => manager.free(6, 3, 1));
      expect(event(() => manager.clean(7, 3, 1))).toContain('request 7 done, 1');
      event(() => manager.cleaned(3, 1, true));
      expect(event(() => manager.release(HOST_NODE, 3, 1, Access.Read))).toContain(
        'request 6 done, 1',
      );
    });

    it('stay changed when it failed, and when a device wrote them since', () => {
      allocate(BLOCK, { provided: true });
      fault(HOST, 3, true);
      fault(HOST, 4, true);
      hold(3, 2);
      event(() => manager.clean(2, 3, 2));
      expect(fault(1, 3, true)).toEqual([]);
      event(() => manager.cleaned(3, 2, false));
      event(() => manager.release(HOST_NODE, 3, 2, Access.Read));
      expect([dirty(3), dirty(4)]).toEqual([true, true]);
      expect(manager.state.nodes[1]?.counters.pagesIn).toBe(1);
    });

    it('are kept when the rest is dropped, unless they are to be forgotten', () => {
      allocate(BLOCK, { provided: true });
      fault(HOST, 3, true);
      fault(HOST, 4, false);
      fault(1, 4, false);
      event(() => manager.zero(1, 5, 1));
      expect(event(() => manager.drop(2, 3, 3, false))).toEqual([
        'host revoke 4+1 to none',
        'dev revoke 4+1 to none',
        'request 2 done, 3',
      ]);
      expect(fault(HOST, 4, false)).toEqual(['host gets 4+1 from provider as read, backed']);
      expect(fault(HOST, 5, false)).toEqual(['host gets 5+1 from zero as read']);
      expect(event(() => manager.drop(3, 0, BLOCK, true))).toContain('host revoke 3+3 to none');
      expect(dirty(3)).toBe(false);
      expect(fault(HOST, 3, false)).toEqual(['host gets 3+1 from provider as read, backed']);
      expect(fault(HOST, 5, true)).toEqual(['host gets 5+1 from provider as write, backed']);
    });
  });

  it('denies a write to a read-only range, and lets those read who wait for the same page', () => {
    allocate(10, { provided: true, writable: false });
    commands.transferStatus = () => Status.Pending;
    fault(HOST, 1, false, 0);
    fault(HOST, 2, true, 1);
    fault(HOST, 2, false, 2);
    expect(event(() => manager.transferred(commands.pending[0], Status.Done))).toEqual([
      'host denied write 2 READ_ONLY',
      'host gets 2+1 from provider as read',
    ]);
  });

  it('tells where pages are without touching them', () => {
    const first = allocate(4, { provided: true });
    fault(1, first, true);
    fault(HOST, first + 1, false);
    event(() => manager.free(1, first + 3, 1));
    const nodes = new Uint32Array(4);
    const access = new Uint32Array(4);
    const flags = new Uint8Array(4);
    expect(event(() => manager.pages.snapshot(first, nodes, access, flags))).toEqual([]);
    expect([...nodes]).toEqual([2, 1, 0, 0]);
    expect([...access]).toEqual([Access.Write << 2, Access.Read, 0, 0]);
    expect([...flags]).toEqual([4 | 8, 8, 8, 1]);
  });
});
