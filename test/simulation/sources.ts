/**
 * Where pages come from that no node holds: a file, or a function of the user's, which may be slow,
 * fail for once, or not give some pages for a reason of its own until it does again; and other
 * ranges, for clones.
 */
import { type DenyReason, Status } from '../../src/core/basics/types.js';
import type { Clones } from '../../src/pager/arrays/clones/clones.js';
import { ModelDevice, NODE_BYTES, PAGE_BYTES, PAGES } from './model-device.js';
import type { Random } from './random.js';
import type { World } from './world.js';

/**
 * What a source says of pages that it does not give, and what every processor that wants them must
 * be told.
 */
const REFUSALS = [Status.SourceChanged, Status.ProviderFailed, Status.Refused] as const;
const REASONS: readonly DenyReason[] = ['SOURCE_CHANGED', 'PROVIDER_FAILED', 'ACCESS_REFUSED'];

/** Changed pages on their way back, and what was in them when they set out. */
interface Return {
  readonly token: number;
  readonly page: number;
  readonly values: readonly number[];
}

interface Provision {
  readonly token: number;
  readonly page: number;
  readonly count: number;
  readonly target: number;
}

export class Sources {
  /**
   * What is given for each page: what was written back, or else what was there from the beginning.
   */
  readonly file = new Uint32Array(PAGES);
  readonly provisions: Provision[] = [];
  readonly returns: Return[] = [];
  /** How often a part fails for once. */
  failure = 0;
  /** How often changed pages are not taken back. */
  returnFailure = 0;
  /** How often a file is found to have changed, also for once. */
  changes = 0;
  /** How often a clone cannot be given a part, for once. */
  withheld = 0;
  /** What is said of each page instead of its content; 0: it is given. */
  private readonly refused = new Uint8Array(PAGES);
  /** A bit for each thing that was ever said of a page. */
  private readonly said = new Uint8Array(PAGES);

  constructor(
    private readonly world: World,
    private readonly random: Random,
    private readonly clones: () => Clones,
  ) {}

  provide(token: number, page: number, count: number, target: number): Status {
    const range = this.world.manager.state.va.rangeOfPage(page);
    if (range !== undefined && this.clones().has(range)) {
      if (this.withheld > 0 && this.random.chance(this.withheld)) return Status.SourceFailed;
      return this.clones().provide(range, token, page, count, target);
    }
    const shared = this.world.others.provide(page, count, target);
    if (shared !== null) return shared;
    if (this.changes > 0 && this.random.chance(this.changes)) {
      for (let at = page; at < page + count; at++) this.said[at] |= 1;
      return Status.SourceChanged;
    }
    if (this.random.chance(this.failure)) return Status.Failed;
    if (this.random.chance(this.world.weather.later)) {
      this.provisions.push({ token, page, count, target });
      return Status.Pending;
    }
    return this.give(page, count, target);
  }

  /** The file is to take changed pages of the host back. */
  takeBack(token: number, page: number, count: number): Status {
    const values = Array.from({ length: count }, (_, at) => this.world.host.value(page + at));
    this.returns.push({ token, page, values });
    return Status.Pending;
  }

  /** It has, or could not. */
  endReturn(): void {
    const [{ token, page, values }] = this.returns.splice(
      this.random.below(this.returns.length),
      1,
    );
    values.forEach((value, at) => {
      if (this.world.host.value(page + at) !== value)
        throw new Error(`page ${page + at} was written while its file took it back`);
    });
    if (this.random.chance(this.returnFailure)) {
      this.world.refuseReturns(page);
      this.world.router.completed(token, Status.Failed);
      return;
    }
    values.forEach((value, at) => {
      this.file[page + at] = value;
    });
    this.world.router.completed(token, Status.Done);
  }

  /** A part that took its time is there, or is not given. */
  endOne(): void {
    const index = this.random.below(this.provisions.length);
    const [{ token, page, count, target }] = this.provisions.splice(index, 1);
    const failed = this.random.chance(this.failure);
    this.world.router.completed(token, failed ? Status.Failed : this.give(page, count, target));
  }

  /** From now on pages are given no more; or they are again. */
  spoil(first: number, count: number): void {
    const refusal = this.random.chance(0.25) ? 0 : this.random.pick(REFUSALS);
    this.world.trace(
      () =>
        `  ${first}+${count} are ${refusal === 0 ? 'given' : `refused by ${refusal}`} from now on`,
    );
    for (let page = first; page < first + count; page++) {
      this.refused[page] = refusal;
      if (refusal !== 0) this.said[page] |= 1 << (refusal - Status.SourceChanged);
    }
  }

  /** Another range has these addresses. */
  begin(first: number, end: number): void {
    this.refused.fill(0, first, end);
    this.said.fill(0, first, end);
  }

  /** Whether this is what is said of pages that a source does not give. */
  isRefusal(reason: DenyReason): boolean {
    return REASONS.includes(reason);
  }

  /** Whether it was ever said of the page, or of one that it was cloned from. */
  hasSaid(reason: DenyReason, page: number): boolean {
    const bit = 1 << REASONS.indexOf(reason);
    for (const at of this.world.lineage(page)) if ((this.said[at] & bit) !== 0) return true;
    return false;
  }

  /**
   * A clone's page is lost with the reason of its source, whose addresses may be others' one day.
   */
  remember(reason: DenyReason, page: number): void {
    if (this.isRefusal(reason)) this.said[page] |= 1 << REASONS.indexOf(reason);
  }

  /** What clones are made of: pages of the host, written where the router says. */
  copyHost(page: number, count: number, target: number): void {
    this.write(target, count, (at) => this.world.host.value(page + at));
  }

  zero(count: number, target: number): void {
    this.write(target, count, () => 0);
  }

  private give(page: number, count: number, target: number): Status {
    for (let at = page; at < page + count; at++)
      if (this.refused[at] !== 0) return this.refused[at] as Status;
    this.write(target, count, (at) => this.file[page + at]);
    return Status.Done;
  }

  /** Values of pages, to where the router says. */
  write(target: number, count: number, value: (at: number) => number): void {
    const device = this.world.stores[Math.floor(target / NODE_BYTES) - 1];
    if (!(device instanceof ModelDevice) || device.gone) return;
    const first = (target - device.memory) / PAGE_BYTES;
    device.fill(first, count);
    for (let at = 0; at < count; at++) device.store(first + at, value(at));
  }
}
