/**
 * A GPU that a thread of the program has opened and lent. Only that thread can drive it, and it may
 * be stopped by a page fault: then nothing that the manager does may need the GPU. So the device's
 * content is in host memory, the *mirror*, from which pages come and go at once, and what the GPU
 * has is a copy of it: what comes is written there when the thread gets round to it, and what a
 * launch has written is read back before the launch counts as ended.
 */
import { PAGE_BYTES, Status } from '../../core/basics/types.js';
import { copyMemory, punchHole, view } from '../../linux/memory/memory.js';
import type { LaunchFailure, TransferOrder } from '../driver.js';
import type { IsLent, LaunchRefusal, ProcessEvents } from '../process-driver.js';
import type { LaunchDivision, Planning, WgslLaunch } from '../wgsl-launch.js';
import { move, WebgpuDevice, type WebgpuDeviceOptions } from './device.js';
import { type Pages, pagesAround } from './launches/launch-plan.js';
import {
  GIVEN_UP_AT,
  type LentFacts,
  type LentMemory,
  type LentPlace,
  MIRROR_AT,
  STAGING_AT,
} from './link/lent.js';
import { LentLink } from './link/lent-link.js';
import { type Drain, File, type Fill, type Launched, Packet, type Part } from './link/protocol.js';
import { Staging } from './link/staging.js';

/** Tokens of launches' copies are below 0; those of what drains are lower still. */
const FIRST_DRAIN = -1000;

/** The program that opened the GPU can ask it for more than WebGPU gives by itself. */
function withRemedy<T extends { readonly message: string }>(failure: T | null): T | null {
  if (failure === null) return null;
  const [, limit] = /\((max\w+)\)/.exec(failure.message) ?? [];
  const [, feature] = /the module enables .* \(([\w-]+)\);/.exec(failure.message) ?? [];
  if (limit === undefined && feature === undefined) return failure;
  const remedy =
    limit === undefined
      ? `features that it was opened with: requestDevice({ requiredFeatures: ['${feature}'] })`
      : `limits that it was opened with: requestDevice({ requiredLimits: { ${limit}: adapter.limits.${limit} } })`;
  return { ...failure, message: `${failure.message}; the GPUDevice has the ${remedy}` };
}

function* remedied(
  slices: Planning<LaunchDivision | LaunchRefusal>,
): Planning<LaunchDivision | LaunchRefusal> {
  const found = yield* slices;
  return 'count' in found ? found : (withRemedy(found) ?? found);
}

export class LentDevice extends WebgpuDevice {
  override readonly lent: IsLent = this;
  readonly lender: number;
  private own: LentMemory | null = null;
  /** Pages that the launch which runs may write. */
  private written: readonly Pages[] = [];
  /** The thread was told to run a kernel, and has not said how that ended. */
  private running = false;
  /** Copies of what a launch has written that have not come. */
  private coming = 0;
  private copies = 0;
  /** What a launch that is paged waits for. */
  private due = 0;
  /** Where written pages go when they have come, by the thread's tokens of them. */
  private readonly drains = new Map<
    number,
    { readonly token: number; readonly at: number; readonly to: Drain['to'] }
  >();
  private lastDrain = FIRST_DRAIN;
  /** How the launch ended that they are of. */
  private outcome: LaunchFailure | null = null;
  /** A launch was given up, and the thread has not answered yet. Another one may wait for that. */
  private givenUp = false;
  private next: readonly WgslLaunch[] | null = null;

  constructor(
    options: WebgpuDeviceOptions,
    place: LentPlace,
    events: ProcessEvents,
    private readonly line = new LentLink(options.name, place),
  ) {
    super(options, events, line, null, { memorySurvives: true });
    this.lender = place.thread;
  }

  override transferIn({ address, page, count, backed }: TransferOrder): Status {
    if (this.dead || this.own === null) return Status.Lost;
    if (!backed && this.isTooLarge(count)) return Status.NoMemory;
    if (address === 0) this.clear(page, count);
    else copyMemory(this.mirror(page), address, count * PAGE_BYTES);
    this.write(address === 0 ? File.None : File.Mirror, page, this.runs.fill(page, count));
    return Status.Done;
  }

  /** What the GPU had when it was lost is here. */
  override transferOut({ frame: page, count, address }: TransferOrder): Status {
    copyMemory(address, this.mirror(page), count * PAGE_BYTES);
    return Status.Done;
  }

  override release(token: number, page: number, count: number): Status {
    if (this.own !== null) this.clear(page, count);
    return super.release(token, page, count);
  }

  /** Each is read back before the next one begins. */
  override get launchesAtOnce(): number {
    return 1;
  }

  override launchWgsl(launches: readonly WgslLaunch[]): void {
    if (this.givenUp && !this.dead) {
      this.next = launches;
      return;
    }
    const [launch] = launches;
    this.written = launch.parameters.flatMap((each) =>
      each.kind === 'array' && each.use !== 'in' ? [pagesAround(each)] : [],
    );
    super.launchWgsl(launches);
  }

  /**
   * Ends a launch that can only go on when its thread does. What it has written by then may be
   * there in part. The thread, which is stopped, finds that nothing of it is wanted any more.
   */
  abandon(launch: number, message: string): void {
    if (this.launched !== launch) return;
    this.givenUp = true;
    Atomics.store(this.word, 0, 1);
    this.launched = null;
    this.paged?.close();
    this.paged = null;
    this.over();
    this.events.launched(launch, { code: 'DEADLOCK', message });
    this.recover();
  }

  override look(): void {
    super.look();
    if (!this.dead) this.line.look();
  }

  override refuse(launch: Omit<WgslLaunch, 'id'>): LaunchRefusal | null {
    return withRemedy(super.refuse(launch));
  }

  override divide(
    launch: Omit<WgslLaunch, 'id'>,
    needs: Parameters<WebgpuDevice['divide']>[1],
  ): Planning<LaunchDivision | LaunchRefusal> | null {
    const slices = super.divide(launch, needs);
    return slices && remedied(slices);
  }

  override processEnded(): void {
    const { next } = this;
    super.processEnded();
    this.next = null;
    if (next !== null) super.launchWgsl(next);
  }

  protected override start(facts: LentFacts): void {
    this.own = facts.memory;
    this.staging = new Staging(facts.memory.address + STAGING_AT);
    super.start(facts);
  }

  protected override ended(launched: Launched): void {
    this.running = false;
    if (this.givenUp) this.recover();
    else super.ended(launched);
  }

  /** What it has written is read back first, also where it has failed: some of it may have run. */
  protected override launchEnded(launch: number, failure: LaunchFailure | null): void {
    this.outcome = failure;
    for (const { first, count } of this.written) {
      this.coming++;
      this.post(Packet.Read, [
        move(++this.copies, File.Mirror, first * PAGE_BYTES, this.runs.parts(first, count)),
      ]);
    }
    if (this.coming === 0) super.launchEnded(launch, failure);
  }

  protected override moved(token: number, status: Status): void {
    if (token < 0) {
      this.pagesMoved(token, status);
      return;
    }
    if (--this.coming > 0) return;
    if (this.givenUp) this.recover();
    else if (this.launched !== null) super.launchEnded(this.launched, this.outcome);
  }

  /**
   * The thread must not touch host memory when it gets round to a packet, which may be too late. So
   * pages of a launch that is paged go over the mirror of the memory that the launch has for them.
   */
  protected override post(kind: number, what: unknown): void {
    this.running ||= kind === Packet.Dispatch || kind === Packet.Round;
    if (kind === Packet.Fill) this.fill(what as Fill);
    else if (kind === Packet.Drain) this.drain(what as Drain);
    else super.post(kind, what);
  }

  private fill({ at, parts, ...fill }: Fill): void {
    let from = this.slots.addressOf(0) + at;
    for (const part of parts) {
      const place = this.runs.placeOf(part[0], part[1]);
      copyMemory(this.mirror(0) + place, from, part[2]);
      from += part[2];
    }
    this.due++;
    super.post(Packet.Fill, { ...fill, at, parts } satisfies Fill);
  }

  private drain({ token, from, to }: Drain): void {
    const at = this.runs.placeOf(from[0], from[1]);
    const own = --this.lastDrain;
    this.drains.set(own, { token, at, to });
    this.due++;
    super.post(Packet.Read, [move(own, File.Mirror, at, [from])]);
  }

  /** What a launch that is paged waits for has been done. */
  private pagesMoved(token: number, status: Status): void {
    this.due--;
    if (this.givenUp) {
      this.filled(token);
      this.recover();
      return;
    }
    const drained = this.drains.get(token);
    this.drains.delete(token);
    let source = this.mirror(0) + (drained?.at ?? 0);
    for (const [place, bytes] of drained?.to ?? []) {
      copyMemory(this.options.host.address + place, source, bytes);
      source += bytes;
    }
    super.moved(drained?.token ?? token, status);
  }

  /** The given-up launch has left the thread: the GPU's copy is made the mirror's again. */
  private recover(): void {
    if (this.running || this.coming > 0 || this.due > 0) return;
    this.drains.clear();
    Atomics.store(this.word, 0, 0);
    this.givenUp = false;
    this.runs.unuse();
    for (const { first, count } of this.written)
      for (const there of this.runs.backed(first, count))
        this.write(File.Mirror, there.first, this.runs.parts(there.first, there.count));
    const { next } = this;
    this.next = null;
    if (next !== null) this.launchWgsl(next);
  }

  private write(file: File, page: number, parts: readonly Part[]): void {
    this.moves.add(Packet.Write, null, file, file === File.None ? 0 : page * PAGE_BYTES, parts);
  }

  private clear(page: number, count: number): void {
    const { fd } = this.own as LentMemory;
    punchHole(fd, MIRROR_AT + page * PAGE_BYTES, count * PAGE_BYTES);
  }

  private mirror(page: number): number {
    return (this.own as LentMemory).address + MIRROR_AT + page * PAGE_BYTES;
  }

  private get word(): Int32Array {
    return new Int32Array(
      view((this.own as LentMemory).address + GIVEN_UP_AT, Int32Array.BYTES_PER_ELEMENT),
    );
  }
}
