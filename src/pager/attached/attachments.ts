/**
 * Other processes on the space: where they connect, what they are handed, and what becomes of them.
 * A process is a processor of the core as long as it lives; each of its threads that attached is a
 * client. Nothing here waits for a process.
 */

import { closeSync, openSync } from 'node:fs';
import { type DenyReason, PAGE_BYTES, type ProcessorId } from '../../core/basics/types.js';
import { AttachedProcess } from '../../drivers/attached/attached.js';
import type { HostDriver } from '../../drivers/host-linux/host.js';
import { POLLIN, POLLOUT } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { randomName } from '../../linux/base/random.js';
import { FAULT_FEATURES } from '../../linux/memory/managed-mapping.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { mayOpenPidfd, pidfdOpen } from '../../linux/processes/process.js';
import { acceptLocally, listenLocally, peerOf } from '../../linux/sockets/local-socket.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import type { Guards } from '../arrays/modules/guards.js';
import type { SpaceContext } from '../arrays/table/context.js';
import { figuresOf, NO_LAUNCHES } from '../devices/figures.js';
import {
  ATTACH_VERSION,
  type AttachHello,
  type AttachMapped,
  type AttachOffer,
  type AttachRefusal,
  type AttachWelcome,
  type Codec,
  DENIED_OUTCOME,
  handleText,
  namedSocket,
  nameOfSocket,
  type ProcessOverview,
  type ShareRights,
  socketName,
} from '../protocol/attaching.js';
import { type ProcessorStats, storeNames } from '../protocol/space.js';
import type { Connection, Transport } from '../protocol/transport.js';
import { RequestError, toWire } from '../protocol/wire.js';
import { ProcessGate } from './gate.js';
import { type Grant, Grants } from './grants.js';
import { Life } from './life.js';
import { type Gate, LineConnection } from './line-connection.js';
import { LookGate } from './look-gate.js';
import type { SpaceLayout } from './shapes.js';

/** Threads of other processes that may be attached, or about to. */
const MOST_LINES = 64;
/** What a thread that connected has time for until it is through. */
const HANDSHAKE_MS = 10_000;
const LOOK_MS = 1000;
/** Of a line: the socket by which it came, and its stream. */
const SLOTS_PER_LINE = 2;
const SLOTS_PER_PROCESS = 2;
/** The core has no room for more. */
const MOST_PROCESSES = 16;

export const ATTACHED_SLOTS = 1 + MOST_LINES * SLOTS_PER_LINE + MOST_PROCESSES * SLOTS_PER_PROCESS;

/** A process that has the space's memory mapped. */
interface Member {
  readonly pid: number;
  readonly place: number;
  readonly driver: AttachedProcess;
  readonly processor: ProcessorId;
  /** Becomes readable when the process ends; -1: the system allows none. */
  pidfd: number;
  /** The number of the userfaultfd there. */
  readonly faults: number;
  /**
   * By which threads of it are told of denied accesses, and of the owner's end. They outlive its
   * clients: views do, too.
   */
  lives: Life[];
  /** Its threads take pages out of its page tables when they are asked. */
  readonly letsGo: boolean;
  /** The thread that was asked last; null: none heard it. */
  asked: Life | null;
  gone: boolean;
}

/** A thread of another process, from its connection on. */
interface Line {
  readonly place: number;
  readonly socket: MessageSocket;
  readonly pid: number;
  readonly since: number;
  grant: Grant | null;
  codec: AttachHello['codec'];
  member: Member | null;
  connection: LineConnection | null;
}

export class Attachments implements Transport {
  private readonly grants = new Grants();
  private readonly lines: (Line | undefined)[] = [];
  private readonly members: (Member | undefined)[] = [];
  private readonly accepted: LineConnection[] = [];
  private listener = -1;
  private socket = '';
  private clients = 0;
  /** A client has ended since that was asked last. */
  private someEnded = false;
  /** A thread waited to be accepted at the last look, and there was no place for it. */
  private wasFull = false;
  private lastLook = Number.NEGATIVE_INFINITY;
  private readonly layout: SpaceLayout;

  constructor(
    private readonly context: SpaceContext,
    private readonly host: HostDriver,
    private readonly guards: Guards,
    private readonly firstSlot: number,
  ) {
    const { pages } = context.manager;
    this.layout = { bytes: context.options.bytes, rangeAt: (page) => pages.rangeOf(page)?.id };
  }

  /** Processes of this user may look at the space. */
  show(): void {
    if (this.listener === -1) this.listen(randomName());
  }

  /** A handle by which other processes of this user attach. */
  share(rights: ShareRights, ranges: readonly number[] | null): string {
    this.show();
    const { token } = this.grants.add(rights, ranges);
    return handleText({ owner: process.pid, socket: this.socket, token });
  }

  /** Programs of this user find the space by the name. */
  listenAs(name: string): void {
    try {
      this.listen(namedSocket(process.geteuid?.() ?? 0, name));
    } catch (error) {
      if (!(error instanceof SystemCallError) || error.code !== 'EADDRINUSE') throw error;
      throw new RequestError('SPACE_NAME', `there is a space ${name} already; see: onemem ls`);
    }
  }

  private listen(socket: string): void {
    // No handle names this socket; a process that looks finds the new one.
    if (this.grants.isEmpty && nameOfSocket(this.socket) === null) this.stopListening();
    if (this.listener !== -1)
      throw new RequestError(
        'SPACE_NAME',
        'a space gets a name before it is shared, and one alone',
      );
    this.listener = listenLocally(socketName(socket));
    this.socket = socket;
    this.context.poller.set(this.firstSlot, this.listener);
  }

  /** Whether processes may attach. */
  get any(): boolean {
    return this.listener !== -1;
  }

  /** Processes whose faults are read. */
  get count(): number {
    return this.members.length;
  }

  accept(): Connection | undefined {
    const connection = this.accepted.shift();
    // Its process was cut off as soon as it was in.
    if (connection?.hasEnded === true) this.someEnded = true;
    return connection;
  }

  get haveFaults(): boolean {
    for (const member of this.members)
      if (member !== undefined && this.context.poller.readyAt(this.faultSlot(member.place)) !== 0)
        return true;
    return false;
  }

  /** Takes the faults that wait; returns how many there were. */
  readFaults(): number {
    let found = 0;
    for (const member of this.members)
      if (member !== undefined) found += member.driver.readFaults();
    return found;
  }

  /** Whether a client has something to be read. */
  get haveMessages(): boolean {
    for (const line of this.lines)
      if (
        line?.connection != null &&
        this.context.poller.readyAt(this.streamSlot(line.place)) !== 0
      )
        return true;
    return this.accepted.length > 0;
  }

  /** Handles what the poller found. */
  poll(): void {
    const { poller } = this.context;
    for (const member of [...this.members]) {
      if (member !== undefined && poller.readyAt(this.lifeSlot(member.place)) !== 0)
        this.lost(member);
    }
    // A process that comes may need the number of one that has gone in the same turn.
    for (const line of this.lines)
      if (line !== undefined && poller.readyAt(this.socketSlot(line.place)) !== 0)
        this.context.later(() => {
          if (this.lines[line.place] === line) this.hear(line);
        });
    this.look();
  }

  /**
   * Sends what waits, and polls for the rest; then accepts threads that connect. True: a client has
   * ended since the last time.
   */
  prepare(): boolean {
    for (const line of this.lines) if (line?.connection != null) this.pump(line, line.connection);
    if (this.listener !== -1 && this.context.poller.readyAt(this.firstSlot) !== 0) this.greet();
    const ended = this.someEnded;
    this.someEnded = false;
    return ended;
  }

  /** Has processes give back page tables of what they have not used for long. */
  lookForIdle(nowMs: number): void {
    for (const member of this.members) {
      if (member === undefined || member.gone || !member.driver.isIdleDue(nowMs)) continue;
      const life = member.lives.find((each) => each.isThere());
      if (!member.letsGo || life === undefined || life.isAsked) continue;
      const idle = member.driver.takeIdle(life === member.asked);
      member.asked = idle.length === 0 || life.ask({ idle: runsOf(idle) }) ? life : null;
    }
  }

  /** An access of an attached process was denied. False: the processor is none of these. */
  denied(processor: ProcessorId, page: number, reason: DenyReason): boolean {
    const member = this.members.find((each) => each?.processor === processor);
    if (member === undefined) return false;
    this.condemn(member, page, this.context.places.explain(reason, page));
    return true;
  }

  /** The core has nothing more of a processor: the process that it was. Null: none of these. */
  drained(processor: ProcessorId): number | null {
    const member = this.members.find((each) => each?.processor === processor);
    if (member === undefined) return null;
    this.context.router.detachProcessor(processor);
    this.members[member.place] = undefined;
    return member.pid;
  }

  get processes(): ProcessOverview[] {
    return this.members.flatMap((member) => {
      if (member === undefined || member.gone) return [];
      const threads = this.lines.filter((line) => line?.member === member).length;
      return [{ pid: member.pid, threads }];
    });
  }

  stats(): ProcessorStats[] {
    return this.members.flatMap((member) => {
      if (member === undefined || member.gone) return [];
      const { kind, description } = member.driver;
      const what = { name: description.name, kind, alive: true };
      const copying = { copyMs: 0, transfersIn: 0 };
      return [figuresOf(this.context.manager, member.processor, what, NO_LAUNCHES, copying)];
    });
  }

  close(): void {
    this.stopListening();
    this.grants.clear();
    for (const line of [...this.lines]) if (line !== undefined) this.drop(line);
    for (const member of this.members) {
      if (member === undefined) continue;
      this.unpoll(member);
      member.driver.close();
    }
    this.members.length = 0;
  }

  private stopListening(): void {
    if (this.listener === -1) return;
    this.context.poller.clear(this.firstSlot);
    closeDescriptor(this.listener);
    this.listener = -1;
  }

  private greet(): void {
    for (;;) {
      const place = firstFree(this.lines);
      const isFull = place >= MOST_LINES;
      // The poller may have looked between the end of a thread and the next one's connection.
      if (isFull && !this.wasFull) {
        this.wasFull = true;
        return;
      }
      this.wasFull = false;
      const fd = acceptLocally(this.listener);
      if (fd === null) return;
      const { pid, uid } = peerOf(fd);
      // What another user may know is not enough, whatever it is.
      if (uid !== process.geteuid?.() || isFull) {
        closeDescriptor(fd);
        continue;
      }
      const line: Line = {
        place,
        socket: new MessageSocket(fd),
        pid,
        since: this.context.now(),
        grant: null,
        codec: 'v8',
        member: null,
        connection: null,
      };
      this.lines[place] = line;
      this.context.poller.set(this.socketSlot(place), fd);
    }
  }

  /** A thread says something before it is through, or has ended. */
  private hear(line: Line): void {
    try {
      while (line.connection === null) {
        const message = line.socket.receive();
        if (message === null) return;
        const fds = message === 'closed' ? [] : message.fds;
        if (fds === null)
          throw new RequestError('DESCRIPTORS', 'cannot attach: the owner has no descriptor left');
        if (message === 'closed') {
          this.drop(line);
          return;
        }
        this.take(line, parse(message.bytes), fds);
      }
    } catch (error) {
      this.refuse(line, error);
    }
  }

  private take(line: Line, said: Record<string, unknown>, fds: readonly number[]): void {
    if (line.grant === null && said.look === true) {
      this.showTo(line, said as unknown as AttachHello, fds);
      return;
    }
    if (line.grant === null) {
      for (const fd of fds) closeDescriptor(fd);
      this.offer(line, said as unknown as AttachHello);
      return;
    }
    const { watched } = said as unknown as AttachMapped;
    expectDescriptors(1 + (watched === true ? 0 : 1) + (line.member === null ? 1 : 0), fds);
    this.enter(line, said as unknown as AttachMapped, fds);
  }

  /** A thread of a process comes in, and with the first one the process. */
  private enter(line: Line, said: AttachMapped, fds: readonly number[]): void {
    const [stream, ...others] = fds;
    try {
      line.member ??= this.join(line, said, others[others.length - 1]);
    } catch (error) {
      for (const fd of fds) closeDescriptor(fd);
      throw error;
    }
    if (said.watched !== true) this.watch(line.member, others[0]);
    const grant = line.grant as Grant;
    const gate = new ProcessGate(grant, this.layout, this.clients + 1);
    this.welcome(line, gate, grant.ranges, stream);
  }

  /** The process only looks: it becomes a client, and no processor. */
  private showTo(line: Line, hello: AttachHello, fds: readonly number[]): void {
    expectDescriptors(1, fds);
    const [stream] = fds;
    try {
      const grant = hello.token === null ? null : this.grantOf(hello);
      line.codec = codecOf(hello);
      const gate = new LookGate(nameOfSocket(this.socket) !== null, grant === null);
      this.welcome(line, gate, grant?.ranges ?? null, stream);
    } catch (error) {
      closeDescriptor(stream);
      throw error;
    }
  }

  private grantOf({ token }: AttachHello): Grant {
    const grant = this.grants.get(token);
    if (grant !== undefined) return grant;
    throw new RequestError(
      'SPACE_HANDLE',
      'the owner of the space knows no such handle; pass what space.share() gives, as it is',
    );
  }

  /** The process, if it has the memory mapped. */
  private memberOf(pid: number): Member | null {
    const member = this.members.find((each) => each?.pid === pid && !each.gone) ?? null;
    if (member === null || member.driver.hasMemory()) return member;
    this.lost(member);
    return null;
  }

  private offer(line: Line, hello: AttachHello): void {
    line.codec = codecOf(hello);
    line.grant = this.grantOf(hello);
    line.member = this.memberOf(line.pid);
    const { name, bytes, userModeOnly } = this.context.options;
    const { base, fd: memory } = this.host.node;
    const writes = line.grant.rights === 'write';
    const offer: AttachOffer = {
      name,
      base,
      bytes,
      // To wait for an element, the kernel asks for its page to write, and does without where that
      // fails. What it asks for in the name of a process that may not write must fail so.
      userModeOnly: userModeOnly || this.host.faults.via === 'user-mode' || !writes,
      writes,
      mapped: line.member?.faults ?? null,
    };
    const given = offer.writes ? memory : openSync(`/proc/self/fd/${memory}`, 'r');
    try {
      if (!line.socket.send(bytesOf(offer), [given])) this.drop(line);
    } finally {
      if (given !== memory) closeSync(given);
    }
  }

  /** The process has mapped the memory: it is a processor from now on. */
  private join({ pid, grant, codec }: Line, { faults: number }: AttachMapped, fd: number): Member {
    const place = firstFree(this.members);
    const name = `process ${pid}`;
    const events = {
      fault: (page: number, write: boolean, thread: number): void =>
        this.fault(member, grant as Grant, page, write, thread),
      restored: (pages: readonly number[]): void => this.restored(member, pages),
      failed: (): void => this.context.later(() => this.lost(member)),
    };
    const { host } = this;
    const faults = Userfaultfd.fromFd(fd, FAULT_FEATURES);
    const writes = grant?.rights === 'write';
    // Fails where the process has ended by now: before the core knows of it.
    const pidfd = mayOpenPidfd() ? pidfdOpen(pid) : -1;
    const driver = new AttachedProcess(name, host.node.base, faults, host, writes, events);
    let processor: ProcessorId;
    try {
      processor = this.context.manager.addProcessor(driver.description);
    } catch (error) {
      driver.end();
      if (pidfd !== -1) closeDescriptor(pidfd);
      throw new RequestError(
        'PROCESSES',
        `cannot attach: ${(error as Error).message}`,
        {},
        'RangeError',
      );
    }
    this.context.router.attachProcessor(processor, driver);
    const member: Member = {
      pid,
      place,
      driver,
      processor,
      pidfd,
      faults: number,
      lives: [],
      letsGo: codec === 'v8',
      asked: null,
      gone: false,
    };
    this.members[place] = member;
    this.context.poller.set(this.faultSlot(place), fd);
    if (pidfd !== -1) this.context.poller.set(this.lifeSlot(place), pidfd);
    return member;
  }

  /** A thread of the process wants to be told. */
  private watch(member: Member, life: number): void {
    const ended = member.lives.filter((each) => !each.isThere());
    for (const each of ended) each.close();
    member.lives = [...member.lives.filter((each) => !ended.includes(each)), new Life(life)];
  }

  private welcome(
    line: Line,
    gate: Gate,
    ranges: ReadonlySet<number> | null,
    stream: number,
  ): void {
    const client = ++this.clients;
    line.connection = new LineConnection(stream, -client, line.codec, gate, line.pid, ranges);
    this.context.poller.set(this.streamSlot(line.place), stream);
    const { options } = this.context;
    const { hostBudgetBytes } = options;
    const welcome: AttachWelcome = { client, stores: storeNames(options), hostBudgetBytes };
    const isSent = line.socket.send(bytesOf(welcome));
    this.context.poller.clear(this.socketSlot(line.place));
    line.socket.close();
    this.accepted.push(line.connection);
    if (!isSent) this.drop(line);
  }

  private fault(member: Member, grant: Grant, page: number, write: boolean, thread: number): void {
    // Its userfaultfd serves other memory than the space's.
    if (page < 0 || page >= this.context.options.bytes / PAGE_BYTES) {
      this.context.later(() => this.lost(member));
      return;
    }
    const why =
      this.objection(grant, page, write) ?? this.guards.objection(member.processor, page, write);
    if (why === null) this.context.manager.fault(member.processor, page, write, thread);
    else this.condemn(member, page, why);
  }

  private objection({ rights, ranges }: Grant, page: number, write: boolean): string | null {
    if (ranges !== null) {
      const range = this.layout.rangeAt(page);
      if (range === undefined || !ranges.has(range))
        return 'which the handle by which it attached does not allow';
    }
    return write && rights === 'read'
      ? 'to write, and the handle by which it attached allows to read alone'
      : null;
  }

  /** Has the process say why it ends, and end the access; the manager does so for a deaf one. */
  private condemn({ pid, driver, lives }: Member, page: number, why: string): void {
    if (!driver.deny(page)) return;
    const what = `touched ${this.context.places.placeOf(page).text}, ${why}`;
    const say = `onemem: denied access: this process (${pid}) ${what}. ${DENIED_OUTCOME}\n`;
    if (lives.some((life) => life.tell({ say, page }))) return;
    this.context.warn(`denied access: process ${pid} ${what}. ${DENIED_OUTCOME}`);
    driver.poison(page);
  }

  /**
   * Each thread is told that may have been told of the denial. One that hears neither has the
   * accesses fail still.
   */
  private restored({ lives }: Member, restored: readonly number[]): void {
    for (const life of lives) life.tell({ restored });
  }

  private lost(member: Member): void {
    if (member.gone) return;
    member.gone = true;
    this.unpoll(member);
    member.driver.close();
    for (const line of [...this.lines]) if (line?.member === member) this.drop(line);
    this.context.manager.processorLost(member.processor);
  }

  private unpoll(member: Member): void {
    this.context.poller.clear(this.faultSlot(member.place));
    this.context.poller.clear(this.lifeSlot(member.place));
    if (member.pidfd !== -1) closeDescriptor(member.pidfd);
    member.pidfd = -1;
    for (const life of member.lives.splice(0)) life.close();
  }

  private pump(line: Line, connection: LineConnection): void {
    connection.flush();
    if (connection.hasEnded) this.drop(line);
    else {
      const events = connection.wantsRoom ? POLLIN | POLLOUT : POLLIN;
      this.context.poller.set(this.streamSlot(line.place), connection.descriptor, events);
    }
  }

  private refuse(line: Line, error: unknown): void {
    try {
      line.socket.send(bytesOf({ refused: toWire(error) } satisfies AttachRefusal));
    } catch {
      // It has gone.
    }
    this.drop(line);
  }

  private drop(line: Line): void {
    const { place, socket, connection, member } = line;
    if (this.lines[place] !== line) return;
    this.lines[place] = undefined;
    this.context.poller.clear(this.socketSlot(place));
    this.context.poller.clear(this.streamSlot(place));
    socket.close();
    if (connection !== null) {
      connection.end();
      this.someEnded = true;
    }
    // Where the system tells nothing of the process, its last thread does.
    if (
      member !== null &&
      !member.gone &&
      member.pidfd === -1 &&
      !this.lines.some((each) => each?.member === member)
    )
      this.lost(member);
  }

  /** Threads that connect and then say nothing keep no place. */
  private look(): void {
    const now = this.context.now();
    if (now - this.lastLook < LOOK_MS) return;
    this.lastLook = now;
    for (const line of [...this.lines])
      if (line !== undefined && line.connection === null && now - line.since > HANDSHAKE_MS)
        this.drop(line);
  }

  private faultSlot(place: number): number {
    return this.firstSlot + 1 + place * SLOTS_PER_PROCESS;
  }

  private lifeSlot(place: number): number {
    return this.faultSlot(place) + 1;
  }

  private socketSlot(place: number): number {
    return this.firstSlot + 1 + MOST_PROCESSES * SLOTS_PER_PROCESS + place * SLOTS_PER_LINE;
  }

  private streamSlot(place: number): number {
    return this.socketSlot(place) + 1;
  }
}

function firstFree(places: readonly unknown[]): number {
  let place = 0;
  while (places[place] !== undefined) place++;
  return place;
}

/** Sorted numbers as runs: the first, and how many. */
function runsOf(numbers: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last !== undefined && number === last[0] + last[1]) last[1]++;
    else runs.push([number, 1]);
  }
  return runs;
}

function bytesOf(message: object): Uint8Array {
  return Buffer.from(JSON.stringify(message));
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  const said: unknown = JSON.parse(Buffer.from(bytes).toString());
  if (typeof said !== 'object' || said === null) throw new Error('a message was not understood');
  return said as Record<string, unknown>;
}

function expectDescriptors(count: number, fds: readonly number[]): void {
  if (fds.length === count) return;
  for (const fd of fds) closeDescriptor(fd);
  throw new Error(`${count} descriptors were to come, not ${fds.length}`);
}

function codecOf({ onemem, codec }: AttachHello): Codec {
  if (onemem !== ATTACH_VERSION)
    throw new RequestError(
      'SPACE_HANDLE',
      `the owner of the space speaks version ${ATTACH_VERSION}, this process ${onemem}; use the same onemem in both`,
    );
  if (codec !== 'v8' && codec !== 'json') throw new Error('a message names no codec');
  return codec;
}
