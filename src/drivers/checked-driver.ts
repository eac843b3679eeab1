/**
 * Stands between the manager and a driver that it does not know. What such a driver may do wrong
 * ends with its device: it throws, says what cannot be, answers what was not asked, or never
 * answers. The device then counts as dead, its memory as lost, and everything that waits for it is
 * answered; the manager, and threads that wait in a fault, go on.
 */

import { type Access, Status } from '../core/basics/types.js';
import { kernelError } from '../messages/kernel-error.js';
import { type CheckedDescription, describeDriver } from './description.js';
import type {
  Driver,
  DriverContext,
  DriverEvents,
  DriverLaunch,
  LaunchFailure,
  TransferOrder,
} from './driver.js';

/** What a token is pending for. */
const NOTHING = 0;
const COPY = 1;
const REVOCATION = 2;
const RELEASE = 3;
const WHAT = ['nothing', 'a copy', 'a revocation', 'a release'] as const;

/** Events as the queue has them: what happened, and three numbers. */
const FAULT = 1;
const TRANSFERRED = 2;
const REVOKED = 3;
const LAUNCHED = 4;
const DIED = 5;
const RELEASED = 6;
const EVENT_NUMBERS = 4;

/** Looks, a second apart, after which an answer is overdue: suspended machines take none. */
const LOOKS_ALLOWED = 10;

export class CheckedDriver implements Driver {
  /** What the driver is given to report to. */
  readonly events: DriverEvents;
  private driver: Driver | null = null;
  private described: CheckedDescription | null = null;
  /** By token: what is pending, and how often it has been found so. */
  private readonly pending: number[] = [];
  private readonly looks: number[] = [];
  private pendingCount = 0;
  private readonly launches = new Set<number>();
  private readonly failures = new Map<number, LaunchFailure>();
  /** What the driver has said and the manager has not heard. */
  private readonly queue: number[] = [];
  private queueHead = 0;
  private reason: string | null = null;
  private dead = false;

  constructor(
    private readonly asked: Pick<DriverContext, 'name' | 'budgetPages'>,
    private readonly manager: DriverEvents,
    /** Hears why a device counts as dead that did not say so itself. */
    private readonly warn: (message: string) => void,
  ) {
    const { queue } = this;
    this.events = {
      fault: (page, write, thread) => queue.push(FAULT, page, write ? 1 : 0, thread),
      transferred: (token, status) => queue.push(TRANSFERRED, token, status, 0),
      revoked: (token) => queue.push(REVOKED, token, 0, 0),
      released: (token) => queue.push(RELEASED, token, 0, 0),
      launched: (id, failure) => {
        if (failure !== null) this.failures.set(id, failureOf(failure));
        queue.push(LAUNCHED, id, 0, 0);
      },
      died: (reason) => {
        this.reason ??= String(reason);
        queue.push(DIED, 0, 0, 0);
      },
    };
  }

  /** Takes what a driver's module has made. Throws a TypeError that says what is wrong with it. */
  adopt(made: unknown): void {
    this.described = describeDriver(made, this.asked);
    this.driver = made as Driver;
  }

  get kind(): string {
    return this.own.kind;
  }

  get description(): CheckedDescription {
    if (this.described === null) throw new Error(`device ${this.asked.name} has no driver yet`);
    return this.described;
  }

  get memory(): number {
    return this.description.addressable ? this.own.memory : 0;
  }

  /** Whether something is asked of the driver that it may answer at any time. */
  get waiting(): boolean {
    if (this.dead) return false;
    return (
      this.pendingCount > 0 ||
      this.launches.size > 0 ||
      this.queue.length > 0 ||
      this.reason !== null
    );
  }

  map(page: number, count: number, access: Access, previous: Access, frame: number): void {
    this.attempt('map', (driver) => driver.map(page, count, access, previous, frame));
  }

  revoke(token: number, page: number, count: number, to: Access): Status {
    this.expect(token, REVOCATION);
    const status = this.attempt('revoke', (driver) => driver.revoke(token, page, count, to));
    if (status === Status.Pending && !this.gone) return status;
    this.forget(token);
    // What a device that is gone may still do to its pages is not seen by any other processor.
    if (status !== Status.Done && !this.gone) this.failWith('revoke', status);
    return Status.Done;
  }

  release(token: number, page: number, count: number, frame: number): Status {
    this.expect(token, RELEASE);
    const status = this.attempt('release', (driver) => driver.release(token, page, count, frame));
    if (status === Status.Pending && !this.gone && this.description.frames === 'pooled')
      return status;
    this.forget(token);
    // What a device that is gone may still do to its memory is not seen by any other processor.
    if (status !== Status.Done && !this.gone) this.failWith('release', status);
    return Status.Done;
  }

  wake(page: number, count: number, access: Access): void {
    this.attempt('wake', (driver) => driver.wake(page, count, access));
  }

  transferIn(order: TransferOrder): Status {
    return this.copy('transferIn', order.token, (driver) => driver.transferIn(order));
  }

  transferOut(order: TransferOrder): Status {
    // That a driver without addressable memory has this command was looked at when it came.
    return this.copy('transferOut', order.token, (driver) => driver.transferOut?.(order));
  }

  reserve(page: number, count: number): Status {
    if (this.driver?.reserve === undefined) return Status.Done;
    const status = this.attempt('reserve', (driver) => driver.reserve?.(page, count));
    if (status === Status.Done || status === Status.NoMemory) return status;
    if (!this.gone) this.failWith('reserve', status);
    return Status.Lost;
  }

  launch(launch: DriverLaunch): void {
    const { id } = launch;
    this.launches.add(id);
    if (this.driver?.launch === undefined) {
      this.failures.set(id, {
        code: 'KERNEL_ERROR',
        message: `device ${this.asked.name} runs no kernels`,
      });
      this.queue.push(LAUNCHED, id, 0, 0);
      return;
    }
    this.attempt('launch', (driver) => driver.launch?.(launch));
  }

  /** Whether the driver can end a launch that runs. */
  get canAbort(): boolean {
    return this.driver?.abort !== undefined;
  }

  abort(id: number): void {
    if (this.launches.has(id)) this.attempt('abort', (driver) => driver.abort?.(id));
  }

  /** Lets the driver go on, and tells the manager what it has said. */
  progress(): boolean {
    const said = this.deliver();
    if (this.dead) return said;
    const went = this.attempt('progress', (driver) => driver.progress?.()) === true;
    const more = this.deliver();
    if (this.reason !== null && !this.dead) this.bury(this.reason);
    return said || went || more;
  }

  /** Looks whether answers are overdue; to be called about once a second. */
  look(): void {
    if (this.dead || this.pendingCount === 0) return;
    for (let token = 0; token < this.pending.length; token++) {
      if (this.pending[token] === NOTHING || ++this.looks[token] <= LOOKS_ALLOWED) continue;
      this.fail(`has not answered ${WHAT[this.pending[token]]} for ${LOOKS_ALLOWED} s`);
      return;
    }
  }

  lose(reason: string): void {
    if (this.driver?.lose !== undefined) this.attempt('lose', (driver) => driver.lose?.(reason));
    // Whether it says so or not.
    this.reason ??= reason;
  }

  close(): void {
    if (this.driver === null) return;
    this.dead = true;
    try {
      this.driver.close();
    } catch (error) {
      this.warn(`device ${this.asked.name}: its driver threw in close: ${describeError(error)}`);
    }
    this.driver = null;
  }

  /** It has died, or is about to be reported as dead. */
  private get gone(): boolean {
    return this.dead || this.reason !== null;
  }

  private get own(): Driver {
    if (this.driver === null) throw new Error(`device ${this.asked.name} has no driver`);
    return this.driver;
  }

  /** Runs a command. Undefined if the device has died, or dies of it. */
  private attempt<T>(name: keyof Driver, command: (driver: Driver) => T): T | undefined {
    if (this.gone || this.driver === null) return undefined;
    try {
      return command(this.driver);
    } catch (error) {
      this.fail(`threw in ${name}: ${describeError(error)}`);
      return undefined;
    }
  }

  private copy(
    name: 'transferIn' | 'transferOut',
    token: number,
    command: (driver: Driver) => Status | undefined,
  ): Status {
    this.expect(token, COPY);
    const status = this.attempt(name, command);
    if (status === Status.Pending && !this.gone) return status;
    this.forget(token);
    if (this.gone) return Status.Lost;
    if (status === Status.Done || status === Status.Failed || status === Status.NoMemory)
      return status;
    if (status === Status.Lost)
      this.fail(`answered ${name} with Lost, and had not said that its device had died`);
    else this.failWith(name, status);
    return Status.Lost;
  }

  private expect(token: number, what: typeof COPY | typeof REVOCATION | typeof RELEASE): void {
    if ((this.pending[token] ?? NOTHING) === NOTHING) this.pendingCount++;
    while (this.pending.length < token) this.pending.push(NOTHING);
    this.pending[token] = what;
    this.looks[token] = 0;
  }

  private forget(token: number): void {
    if ((this.pending[token] ?? NOTHING) === NOTHING) return;
    this.pending[token] = NOTHING;
    this.pendingCount--;
  }

  private failWith(name: keyof Driver, status: unknown): void {
    this.fail(`answered ${name} with ${String(status)}, which is no answer to it`);
  }

  /** The device counts as dead from the next step on, and its memory as lost. */
  private fail(what: string): void {
    if (this.gone) return;
    this.reason = `its driver ${what}`;
    this.description.memorySurvives = false;
    this.warn(`device ${this.asked.name}: ${this.reason}; the device counts as dead`);
  }

  private deliver(): boolean {
    const { queue } = this;
    if (this.queueHead === queue.length) return false;
    while (this.queueHead < queue.length) {
      const at = this.queueHead;
      this.queueHead += EVENT_NUMBERS;
      if (!this.dead) this.tell(queue[at], queue[at + 1], queue[at + 2], queue[at + 3]);
    }
    queue.length = 0;
    this.queueHead = 0;
    return true;
  }

  private tell(event: number, first: number, second: number, third: number): void {
    switch (event) {
      case FAULT:
        if (this.description.faults) this.manager.fault(first, second === 1, third);
        else this.fail('reported a page fault, though by its description it has none');
        break;
      case TRANSFERRED:
        this.transferred(first, second as Status);
        break;
      case REVOKED:
        if (this.pending[first] !== REVOCATION)
          this.fail(`answered revocation ${first}, which was not pending`);
        else {
          this.forget(first);
          this.manager.revoked(first);
        }
        break;
      case RELEASED:
        if (this.pending[first] !== RELEASE)
          this.fail(`answered release ${first}, which was not pending`);
        else {
          this.forget(first);
          this.manager.released(first);
        }
        break;
      case LAUNCHED:
        this.launched(first);
        break;
      case DIED:
        this.bury(this.reason ?? 'it died');
        break;
    }
  }

  private transferred(token: number, status: Status): void {
    if (this.pending[token] !== COPY) {
      this.fail(`answered copy ${token}, which was not pending`);
      return;
    }
    if (
      status === Status.Pending ||
      status === Status.SourceChanged ||
      !(status >= 0 && status <= Status.Lost)
    ) {
      this.fail(`ended a copy with ${String(status)}, which is no end`);
      return;
    }
    // A device that has lost a copy counts as dead, also if its driver never says that it died.
    if (status === Status.Lost) this.reason ??= 'it lost a copy';
    this.forget(token);
    this.manager.transferred(token, status);
  }

  private launched(id: number): void {
    const failure = this.failures.get(id) ?? null;
    this.failures.delete(id);
    if (!this.launches.delete(id)) this.fail(`ended launch ${id}, which did not run`);
    else this.manager.launched(id, failure);
  }

  /** Answers whatever is pending, then says that the device has died. */
  private bury(reason: string): void {
    this.dead = true;
    const { pending } = this;
    const left = pending.flatMap((what, token) => (what === NOTHING ? [] : [{ token, what }]));
    pending.length = 0;
    this.pendingCount = 0;
    for (const { token, what } of left) {
      if (what === COPY) this.manager.transferred(token, Status.Lost);
      else if (what === RELEASE) this.manager.released(token);
      else this.manager.revoked(token);
    }
    const launches = [...this.launches];
    this.launches.clear();
    this.failures.clear();
    for (const id of launches) this.manager.launched(id, { code: 'DEVICE_LOST', message: reason });
    this.manager.died(reason);
  }
}

/** What can be posted to another thread, whatever the driver made of it. */
function failureOf({ code, message, stack }: LaunchFailure): LaunchFailure {
  const known =
    code === 'ACCESS_DENIED' || code === 'DEVICE_LOST' || code === 'ABORTED'
      ? code
      : 'KERNEL_ERROR';
  return { code: known, message: String(message), ...(typeof stack === 'string' ? { stack } : {}) };
}

/** The message, and where it was thrown, on one line. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return kernelError(error).message;
  const place = (error.stack ?? '').split('\n').find((line) => /^\s+at /.test(line)) ?? '';
  return (
    `${error.name}: ${error.message}`.replace(/\s*\n\s*/g, ' ') + place.replace(/^\s+at /, ' at ')
  );
}
