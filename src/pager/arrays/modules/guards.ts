/**
 * Guards of arrays: modules that are asked before a right is given. Threads of host memory are
 * asked about at each fault, since they get no more than they fault for there (`Range.guarded`);
 * launches, copies and requests before they begin.
 */

import { HOST, PAGE_BYTES, type ProcessorId } from '../../../core/basics/types.js';
import type { MemoryManager } from '../../../core/memory-manager.js';
import type { Range } from '../../../core/table/range.js';
import type { CoreRequests } from '../../core/core-requests.js';
import type { Loading } from '../../core/loading.js';
import type { GuardNote, GuardReport, GuardSource } from '../../protocol/guards.js';
import type { Requests } from '../../protocol/requests.js';
import { RequestError, type WireError, wireError } from '../../protocol/wire.js';
import type { Asked } from '../table/array-pages.js';
import type { ArrayRecord, ArrayTable } from '../table/array-table.js';
import { GuardModule } from './guard-module.js';
import type { Load } from './program-module.js';

/** How many questions the list of noted ones has. */
const NOTES = 1000;

type Done = (failure: WireError | null) => void;

interface Guard {
  readonly module: GuardModule;
  readonly source: GuardSource;
  allowed: number;
  refused: number;
  readonly notes: GuardNote[];
  noted: number;
  problem: string | null;
}

export class Guards {
  private readonly all = new Map<Range, Guard>();

  constructor(
    private readonly manager: MemoryManager,
    private readonly requests: CoreRequests,
    private readonly table: ArrayTable,
    private readonly load: Load,
    private readonly loading: Loading,
  ) {}

  /** It is in force when `done` is told. */
  add({ range: id, name, source }: Requests['guard']['in'], done: Done): void {
    this.loading.wait(
      GuardModule.load(source, this.load),
      (module) => {
        const problem = this.begin(id, name, source, module, done);
        if (problem !== null) done(problem);
      },
      (error) => {
        const message = `cannot guard array ${name}: ${nameOf(source)} ${error.message}`;
        done(wireError('GUARD_MODULE', message, { array: name }));
      },
    );
  }

  private begin(
    id: number,
    name: string,
    source: GuardSource,
    module: GuardModule,
    done: Done,
  ): WireError | null {
    const record = this.table.get(id);
    if (record === undefined || record.range.freedPages === record.range.pages)
      return wireError('USE_AFTER_FREE', `cannot guard array ${name}: it has been freed`);
    const { range } = record;
    if (this.all.has(range)) {
      const message = `cannot guard array ${name}: it has a guard; close that first`;
      return wireError('GUARDED', message, { array: name });
    }
    // What has begun has its rights already, and would get others without a question.
    if (record.uses > 0 || record.launches > 0) {
      const message = `cannot guard array ${name}: a launch, a copy or another call uses it; await that first`;
      return wireError('ARRAY_IN_USE', message, { array: name });
    }
    const counts = { allowed: 0, refused: 0, noted: 0, notes: [], problem: null };
    this.all.set(range, { module, source, ...counts });
    this.change(range, true, () => done(null));
    return null;
  }

  private change(range: Range, on: boolean, done: () => void): void {
    this.requests.start((request) => this.manager.guard(request, range, on), done);
  }

  /** Ends a guard, if there is one still: `done` is told the range that is open again. */
  remove({ range: id }: Requests['unguard']['in'], done: (range: Range | null) => void): void {
    const range = this.manager.range(id);
    if (range === undefined || !this.all.delete(range)) {
      done(null);
      return;
    }
    this.change(range, false, () => done(range));
  }

  report({ range: id }: Requests['guardReport']['in']): GuardReport | null {
    const range = this.manager.range(id);
    const guard = range === undefined ? undefined : this.all.get(range);
    if (guard === undefined) return null;
    const { allowed, refused, noted, notes, problem } = guard;
    return { allowed, refused, noted, notes, problem };
  }

  /** The array is freed, or lies at other addresses now. */
  release(range: Range, instead: Range | null = null): void {
    const guard = this.all.get(range);
    if (guard === undefined) return;
    this.all.delete(range);
    if (instead === null) return;
    this.all.set(instead, guard);
    // Nothing of it has been touched.
    this.change(instead, true, () => undefined);
  }

  /** Why a thread may not have the page that it faulted on; null: it may. */
  objection(processor: ProcessorId, page: number, write: boolean): string | null {
    if (this.all.size === 0) return null;
    const record = this.table.of(page);
    if (record === undefined) return null;
    return this.refusal(record, {
      processor,
      write,
      offset: page * PAGE_BYTES,
      bytes: PAGE_BYTES,
    });
  }

  /** Refuses what a guard does not allow. @param verb what is done to the array, in messages */
  check(name: string, id: number, verb: string, asked: Asked | undefined): void {
    if (this.all.size === 0 || asked === undefined) return;
    const record = this.table.get(id);
    const why = record === undefined ? null : this.refusal(record, asked);
    if (why !== null)
      throw new RequestError('ACCESS_DENIED', `cannot ${verb} array ${name}, ${why}`, {
        array: name,
      });
  }

  /** All of an array is to be read. */
  checkWhole(id: number, name: string, verb: string): void {
    const record = this.table.get(id);
    if (record === undefined) return;
    const { range, bytes } = record;
    const offset = range.first * PAGE_BYTES;
    this.check(name, id, verb, { processor: HOST, write: false, offset, bytes });
  }

  /** The rest of a sentence that names the array. */
  private refusal(
    { range, elementBytes, bytes }: ArrayRecord,
    { processor, write, offset, bytes: wanted }: Asked,
  ): string | null {
    const guard = this.all.get(range);
    if (guard === undefined) return null;
    const from = offset - range.first * PAGE_BYTES;
    const begin = Math.floor(from / elementBytes);
    const end = Math.ceil(Math.min(from + wanted, bytes) / elementBytes);
    if (end <= begin) return null;
    const name = this.manager.processor(processor)?.description.name ?? `processor ${processor}`;
    const question = { processor: name, begin, end, write };
    const { module, source, notes } = guard;
    const told = module.ask({ ...question, array: range.name, data: source.data });
    if ('answer' in told && told.answer !== 'refuse') {
      if (told.answer === 'allow') guard.allowed++;
      else {
        guard.noted++;
        notes.push(question);
        if (notes.length > NOTES) notes.shift();
      }
      return null;
    }
    guard.refused++;
    if ('problem' in told) guard.problem = told.problem;
    const because = 'problem' in told ? `, since it ${told.problem}` : '';
    return (
      `of which its guard, ${nameOf(source)}, does not let ${name} ` +
      `${write ? 'write' : 'read'} elements ${begin} to ${end - 1}${because}`
    );
  }
}

function nameOf({ url, exportName }: GuardSource): string {
  return `export '${exportName}' of ${url}`;
}
