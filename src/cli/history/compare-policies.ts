/** `onemem replay FILE --policy ...`: other eviction policies and memories on a trace. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { BLOCK_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { readRecording } from '../../files/recording-file.js';
import { evictionName, loadPolicies } from '../../policy/choices.js';
import type { BlockTrace } from '../../sim/block-trace.js';
import { leastMs, type Machine, NO_TRANSFERS, transferMs } from '../../sim/machine.js';
import { comparePolicies, type RoomResult } from '../../sim/policy-comparison.js';
import { recordedUses } from '../../sim/recorded-uses.js';
import { formatOf, parseTrace, TraceError } from '../../sim/trace-formats.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { CommandError, fileFailure, UsageError } from '../terminal/failure.js';
import { csvField, formatBytes, formatCount, formatDuration } from '../terminal/format.js';
import { sizeInBytes } from '../terminal/options.js';
import { print } from '../terminal/output.js';
import { comparedPolicies, played } from './compared-policies.js';
import { comparisonPage, type Row } from './comparison-page.js';
import { writePage } from './written-page.js';

const USUAL_OVERSUBSCRIPTION = [1.25, 2, 4];
/** Of all blocks of a recorded memory, beside its own size. */
const USUAL_SHARES = [0.25, 0.5, 1];

export interface ComparisonOptions {
  readonly policy: string;
  readonly 'device-memory'?: string;
  readonly oversubscription?: string;
  readonly block?: string;
  readonly csv?: boolean;
  readonly html?: string;
  readonly json?: boolean;
}

/** A memory whose uses of blocks are played. */
interface Subject {
  readonly name: string;
  readonly trace: BlockTrace;
  readonly blockBytes: number;
  /** As it was recorded; 0: the trace says nothing of a memory. */
  readonly budgetBlocks: number;
  /** The eviction policy that it was recorded with, in words. */
  readonly recordedWith?: string;
}

export async function compareOn(
  path: string,
  options: ComparisonOptions,
  machines: readonly Machine[] = [],
): Promise<number> {
  const policies = await comparedPolicies(options.policy);
  const blockBytes = sizeInBytes('block', options.block, { bytes: 1 }) ?? BLOCK_BYTES;
  const sizes = chosenSizes(options, blockBytes);
  const subjects = await subjectsOf(path, options.block === undefined ? null : blockBytes);
  const rows = subjects.flatMap((subject) => {
    const { name, trace } = subject;
    const rooms = roomsOf(subject, sizes);
    const results = played(options.policy, () => comparePolicies(trace, policies, rooms));
    return results.map(
      (result): Row => ({
        memory: name,
        roomBytes: result.roomBlocks * subject.blockBytes,
        uses: trace.blocks.length,
        blocks: trace.distinct,
        ...result,
        machines: machines.map((machine) => timesOf(machine, subject, result)),
      }),
    );
  });
  warn(subjects, Object.keys(policies));
  if (options.html !== undefined)
    writePage(options.html, comparisonPage(basename(path), rows), 'open it in a browser');
  else if (options.json) print(JSON.stringify(rows));
  else if (options.csv) printCsv(rows);
  else printTables(subjects, rows);
  return 0;
}

/** What the recorded policy kept was used unseen, so that others look better than they are. */
function warn(subjects: readonly Subject[], policies: readonly string[]): void {
  const { recordedWith } = subjects[0];
  const others = policies.filter((policy) => policy !== recordedWith).join(', ');
  if (recordedWith === undefined || recordedWith === 'lru' || others === '') return;
  process.stderr.write(
    `onemem: warning: this was recorded with eviction '${recordedWith}', and uses of blocks that it kept are not in it: ${others} ` +
      `would miss more than is shown. Record with openSpace({ policies: { eviction: 'lru' } }) to compare\n`,
  );
}

function timesOf(machine: Machine, { trace, blockBytes }: Subject, result: RoomResult) {
  const { optimum, policies } = result;
  const msOf = (misses: number): number =>
    transferMs(machine, new Map([[blockBytes, misses]]), NO_TRANSFERS);
  return {
    machine: machine.name,
    leastMs: leastMs(machine, trace.distinct * blockBytes, 0),
    optimumMs: msOf(optimum),
    policies: policies.map(({ policy, misses }) => ({ policy, ms: msOf(misses) })),
  };
}

/** The sizes of memory to try, where the command line names some. */
interface Sizes {
  readonly bytes?: readonly number[];
  /** How many times as large as the memory all blocks are. */
  readonly times?: readonly number[];
}

function chosenSizes(options: ComparisonOptions, blockBytes: number): Sizes {
  const { 'device-memory': sizes, oversubscription } = options;
  if (sizes !== undefined && oversubscription !== undefined)
    throw new UsageError('--device-memory and --oversubscription say the same; give one of them');
  if (sizes !== undefined) {
    const least = { bytes: blockBytes, why: 'the size of a block' };
    return {
      bytes: sizes.split(',').map((text) => sizeInBytes('device-memory', text, least) ?? 0),
    };
  }
  if (oversubscription === undefined) return {};
  const times = oversubscription.split(',').map(Number);
  if (times.every((each) => each >= 1)) return { times };
  const remedy = 'write numbers of 1 or more: 1.25,2';
  throw new UsageError(`--oversubscription is '${oversubscription}'; ${remedy}`);
}

function roomsOf({ trace, blockBytes, budgetBlocks }: Subject, { bytes, times }: Sizes): number[] {
  if (bytes !== undefined) return bytes.map((each) => Math.floor(each / blockBytes));
  if (times === undefined && budgetBlocks > 0) return usualRooms(trace.distinct, budgetBlocks);
  const rooms = (times ?? USUAL_OVERSUBSCRIPTION).map((each) =>
    Math.max(1, Math.floor(trace.distinct / each)),
  );
  return [...new Set(rooms)];
}

/** What a run had, half of it, what it would need to evict nothing, and half of that. */
function usualRooms(distinct: number, budgetBlocks: number): number[] {
  const rooms = USUAL_SHARES.map((share) => Math.ceil(distinct * share));
  if (budgetBlocks < distinct) rooms.splice(0, 1, Math.floor(budgetBlocks / 2), budgetBlocks);
  const usable = new Set(rooms.map((room) => Math.max(1, room)));
  return [...usable].sort((a, b) => a - b);
}

/** @param blockBytes as the command line names it; null: it does not */
async function subjectsOf(path: string, blockBytes: number | null): Promise<Subject[]> {
  const text = read(path);
  if (text.startsWith('{"onememRecording"')) {
    if (blockBytes !== null)
      throw new UsageError(
        '--block is for traces of block numbers; blocks of a recording have 2 MiB',
      );
    if (path === '-')
      throw new UsageError('a recording is named as a file, not read from standard input');
    return recordedSubjects(path);
  }
  const format = formatOf(text);
  if (text.trim() === '') throw new CommandError('NO_TRACE', `${path} is empty`);
  if (format === null) {
    const known =
      'a recording of onemem, a block number a line, JSON lines with hash_ids, or CSV (time,object,...)';
    throw new CommandError('NO_TRACE', `${path} is no trace that onemem knows: ${known}`);
  }
  try {
    const trace = parseTrace(text, format);
    if (trace.distinct === 0) throw new CommandError('NO_TRACE', `${path} has no accesses`);
    const name = path === '-' ? 'standard input' : path;
    return [{ name, trace, blockBytes: blockBytes ?? BLOCK_BYTES, budgetBlocks: 0 }];
  } catch (error) {
    if (error instanceof TraceError)
      throw new CommandError('NO_TRACE', `${path}, ${error.message}`);
    throw error;
  }
}

/** The memories that were used, of those that had to make room where there are any. */
async function recordedSubjects(path: string): Promise<Subject[]> {
  const { header, entries } = readRecording(path);
  const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
  const recordedWith = evictionName(header.policies);
  const used = recordedUses(entries, policies, header.blocks).filter(
    ({ trace }) => trace.distinct > 0,
  );
  if (used.length === 0)
    throw new CommandError(
      'NO_TRACE',
      `${path}: no memory of this run took in a page, so that there is nothing to compare. A device that uses ` +
        'memory of files or of the host in place takes none in; for onemem run, add --paged',
    );
  const pressed = used.filter(
    ({ trace, budgetPages }) => trace.distinct * PAGES_PER_BLOCK > budgetPages,
  );
  return (pressed.length > 0 ? pressed : used).map(({ name, budgetPages, trace }) => ({
    name,
    trace,
    blockBytes: BLOCK_BYTES,
    budgetBlocks: Math.max(1, Math.floor(budgetPages / PAGES_PER_BLOCK)),
    recordedWith,
  }));
}

/** The text of a file, or of standard input where it is `-`. */
function read(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw fileFailure(path, error);
  }
}

function printCsv(rows: readonly Row[]): void {
  const machines = rows[0]?.machines.map(({ machine }) => `,${machine}_ms`) ?? [];
  print(`memory,room_bytes,room_blocks,uses,blocks,policy,misses,over_optimum${machines.join('')}`);
  for (const row of rows) {
    const { memory, roomBytes, roomBlocks, uses, blocks, optimum, policies } = row;
    const all = [...policies, { policy: 'optimum', misses: optimum, overOptimum: 1 }];
    for (const [at, { policy, misses, overOptimum }] of all.entries()) {
      const times = row.machines.map((each) =>
        (each.policies[at]?.ms ?? each.optimumMs).toFixed(3),
      );
      const sizes = [roomBytes, roomBlocks, uses, blocks];
      const figures = [policy, misses, overOptimum.toFixed(4), ...times];
      print([csvField(memory), ...sizes, ...figures].join());
    }
  }
}

function printTables(subjects: readonly Subject[], rows: readonly Row[]): void {
  for (const { name, trace, blockBytes, budgetBlocks } of subjects) {
    const recorded =
      budgetBlocks === 0 ? '' : `, recorded with ${formatBytes(budgetBlocks * blockBytes)}`;
    const uses = `${formatCount(trace.blocks.length)} uses of ${formatCount(trace.distinct)} blocks`;
    print(`${name}: ${uses} of ${formatBytes(blockBytes)}${recorded}`);
    const own = rows.filter(({ memory }) => memory === name);
    const header = ['memory', 'optimum', ...own[0].policies.map(({ policy }) => policy)];
    const lines = own.map(({ roomBytes, optimum, policies }) => [
      formatBytes(roomBytes),
      formatCount(optimum),
      ...policies.map(
        ({ misses, overOptimum }) => `${formatCount(misses)} (${overOptimum.toFixed(2)})`,
      ),
    ]);
    for (const line of alignColumns([header, ...lines])) print(`  ${line}`);
    const all = formatBytes(trace.distinct * blockBytes);
    print(`  With ${all} it has room for all of them, and nothing is evicted.`);
    if (own[0].machines.length > 0) printTimes(own);
  }
  print("\nBlocks that were brought; in brackets, how many times the optimum (Belady's MIN).");
  if (subjects.some(({ budgetBlocks }) => budgetBlocks > 0))
    print(
      'Uses are those that the manager saw: faults, launches and samples, not touches of present pages.',
    );
  if (rows.some(({ machines }) => machines.length > 0))
    print('Times are those of the blocks that are brought; at least: each of them once.');
}

function printTimes(rows: readonly Row[]): void {
  const names = rows[0].policies.map(({ policy }) => policy);
  const lines = rows.flatMap(({ roomBytes, machines }) =>
    machines.map((each) => [
      formatBytes(roomBytes),
      each.machine,
      formatDuration(each.leastMs),
      formatDuration(each.optimumMs),
      ...each.policies.map(({ ms }) => formatDuration(ms)),
    ]),
  );
  const header = ['memory', 'machine', 'at least', 'optimum', ...names];
  for (const line of alignColumns([header, ...lines], 2)) print(`  ${line}`);
}
