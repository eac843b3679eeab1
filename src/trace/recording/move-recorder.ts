/**
 * Writes down the moves of a manager that runs already. It writes text at once and keeps no
 * objects, so that it can follow every fault; while it does not run it costs nothing. The lines are
 * entries of a recording (core/recording/recording.ts), without those that say nothing of moves: they cannot
 * be played again.
 */

import { type Commands, Status, type Transfer } from '../../core/basics/types.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import { EVENTS, type EventName } from '../../core/recording/events.js';
import type { CommandName } from '../../core/recording/recording.js';
import type { State } from './moves.js';
import { movesHeader } from './moves-text.js';

/** Takes the lines. */
export interface MoveSink {
  /** Whether the next lines are to be `begin`'s. */
  readonly isFull: boolean;
  /** A text that can be read by itself: the header, and where all pages are. */
  begin(text: string): void;
  write(lines: string): void;
}

type Call = (...args: unknown[]) => unknown;
type Calls = Record<string, Call>;

/** Events whose result is written down. */
const ANSWERED: ReadonlySet<EventName> = new Set([
  'addDevice',
  'addNode',
  'addProcessor',
  'allocate',
]);
/** Events that may come from within a command. */
const FROM_WITHIN: ReadonlySet<EventName> = new Set(['released', 'revoked', 'transferred']);
/** Events that are written down also where they move nothing. */
const ALWAYS: ReadonlySet<EventName> = new Set<EventName>([
  ...ANSWERED,
  ...FROM_WITHIN,
  'fault',
  'grow',
  'launchBegin',
  'launchEnd',
  'setBudget',
]);
/** Events whose arguments say why pages move. Of the others the name is enough. */
const WITH_ARGUMENTS: ReadonlySet<EventName> = new Set<EventName>([
  ...ALWAYS,
  'acquire',
  'bring',
  'clean',
  'drop',
  'free',
  'protect',
  'zero',
]);
const COMMANDS = [
  'cover',
  'release',
  'remap',
  'revoke',
  'transfer',
] as const satisfies readonly CommandName[];
/** Entries closer together than this share a time, in milliseconds. */
const TIME_STEP_MS = 0.02;

export class MoveRecorder {
  private readonly sinks = new Set<MoveSink>();
  /** Puts back what was replaced, last first. */
  private readonly restore: (() => void)[] = [];
  private readonly began: number;
  private time = 0;
  private depth = 0;
  private text: string[] = [];
  /** The event that is handled has been written. */
  private written = false;
  private event = '';
  private readonly running = new Map<number, State['launches'][number]>();

  /**
   * @param record a name that no other record has
   * @param rule the name of the policy that chooses what is evicted
   * @param now in milliseconds
   */
  constructor(
    private readonly record: string,
    private readonly manager: MemoryManager,
    private readonly commands: Commands,
    private readonly rule: string,
    private readonly now: () => number,
  ) {
    this.began = now();
  }

  add(sink: MoveSink): void {
    if (this.sinks.size === 0) this.start();
    try {
      sink.begin(this.stateText());
      this.sinks.add(sink);
    } finally {
      if (this.sinks.size === 0) this.stop();
    }
  }

  remove(sink: MoveSink): void {
    if (this.sinks.delete(sink) && this.sinks.size === 0) this.stop();
  }

  private stateText(): string {
    const launches = [...this.running.values()];
    const state: State = { ...this.manager.pages.whereabouts(), launches, rule: this.rule };
    return `${movesHeader(this.record)}\n${this.timeLine(this.elapsed())}["#",${JSON.stringify(state)}]\n`;
  }

  /** In milliseconds, as the times of lines. */
  elapsed(): number {
    return this.now() - this.began;
  }

  private timeLine(time: number): string {
    return `["@",${time.toFixed(3)}]\n`;
  }

  private start(): void {
    const { manager, commands } = this;
    for (const name of COMMANDS) {
      this.replace(commands as unknown as Calls, name, (call) => {
        if (name === 'transfer') return (transfer) => this.transfer(call, transfer as Transfer);
        return (...args) => this.command(name, call, args);
      });
    }
    for (const name of EVENTS) {
      this.replace(manager as unknown as Calls, name, (call) =>
        name === 'fault'
          ? (processor, page, write, thread) => this.fault(call, processor, page, write, thread)
          : (...args) => this.told(name, call, args),
      );
    }
  }

  private stop(): void {
    for (let put = this.restore.pop(); put !== undefined; put = this.restore.pop()) put();
    this.running.clear();
  }

  private replace(object: Calls, name: string, by: (call: Call) => Call): void {
    const isOwn = Object.hasOwn(object, name);
    const before = object[name];
    this.restore.push(() => {
      if (isOwn) object[name] = before;
      else Reflect.deleteProperty(object, name);
    });
    object[name] = by(isOwn ? before : before.bind(object));
  }

  private fault(
    call: Call,
    processor: unknown,
    page: unknown,
    write: unknown,
    thread: unknown,
  ): unknown {
    if (this.depth > 0) return call(processor, page, write, thread);
    this.eventBegins(`["!","fault",${processor},${page},${write}]\n`, true);
    return this.carryOut('fault', call, [processor, page, write, thread]);
  }

  private told(name: EventName, call: Call, args: readonly unknown[]): unknown {
    if (this.depth > 0) {
      if (FROM_WITHIN.has(name)) this.text.push(`["+","${name}"${values(args)}]\n`);
      return call(...args);
    }
    const said = WITH_ARGUMENTS.has(name) ? values(args) : '';
    this.eventBegins(`["!","${name}"${said}]\n`, ALWAYS.has(name));
    if (name === 'launchBegin') this.launchBegins(args);
    else if (name === 'launchEnd') this.running.delete(args[0] as number);
    return this.carryOut(name, call, args);
  }

  private eventBegins(text: string, always: boolean): void {
    this.event = text;
    this.written = false;
    if (always) this.writeEvent();
  }

  private writeEvent(): void {
    this.text.push(this.eventText());
  }

  /** Of the event that is handled, with the time. */
  private eventText(): string {
    this.written = true;
    const time = this.elapsed();
    if (time - this.time < TIME_STEP_MS) return this.event;
    this.time = time;
    return `${this.timeLine(time)}${this.event}`;
  }

  private carryOut(name: EventName, call: Call, args: readonly unknown[]): unknown {
    this.depth++;
    try {
      const result = call(...args);
      if (ANSWERED.has(name)) this.text.push(`["=",${answer(result)}]\n`);
      return result;
    } finally {
      this.depth--;
      if (this.text.length > 0) this.handOut();
    }
  }

  private handOut(): void {
    const lines = this.text.join('');
    this.text = [];
    if (lines === '') return;
    for (const sink of this.sinks) {
      sink.write(lines);
      if (sink.isFull) sink.begin(this.stateText());
    }
  }

  private transfer(call: Call, transfer: Transfer): unknown {
    const { token, node, source, page, count, reason } = transfer;
    const why = reason === null ? '' : `,"reason":"${reason}"`;
    const said = `{"token":${token},"node":${node},"source":${source},"page":${page},"count":${count}${why}}`;
    return this.commanded(true, `[">","transfer",[${said}]`, () => call(transfer));
  }

  private command(name: CommandName, call: Call, args: readonly unknown[]): unknown {
    return this.commanded(name === 'release', `[">","${name}",[${values(args).slice(1)}]`, () =>
      call(...args),
    );
  }

  /** What comes from within the command follows it. Rights taken at once say nothing. */
  private commanded(moves: boolean, text: string, call: () => unknown): unknown {
    const at = this.text.push('') - 1;
    const result = call();
    if (!moves && result !== Status.Pending) return result;
    const event = this.written ? '' : this.eventText();
    this.text[at] = `${event}${text}${result === undefined ? '' : `,${JSON.stringify(result)}`}]\n`;
    return result;
  }

  private launchBegins(args: readonly unknown[]): void {
    const [id, processor, given, kernel = ''] = args as [
      number,
      number,
      readonly { name: string }[],
      string?,
    ];
    const arrays = given.map(({ name }) => name);
    this.running.set(id, { id, kernel, processor, arrays, beganMs: this.elapsed() });
  }
}

/** Arguments, each behind a comma. */
function values(args: readonly unknown[]): string {
  let text = '';
  for (const value of args)
    text += typeof value === 'number' ? `,${value}` : `,${JSON.stringify(value, plain) ?? null}`;
  return text;
}

function answer(result: unknown): string {
  return JSON.stringify(result, plain) ?? 'null';
}

/** A range is named by its number and its place. */
function plain(_key: string, value: unknown): unknown {
  if (
    typeof value !== 'object' ||
    value === null ||
    !('reserved' in value && 'protection' in value)
  )
    return value;
  const { id, first } = value as { id: number; first: number } & typeof value;
  return { range: id, first };
}
