/**
 * A machine of the core alone, on which ways through memory are played: commands are done at once,
 * and what is to come ahead comes after each fault. Nothing is timed.
 */
import {
  type DeviceDescription,
  HOST,
  HOST_NODE,
  type MemorySpeed,
  NO_NODE,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../../src/core/basics/types.js';
import type { Policies } from '../../src/core/table/processors.js';
import type { OpenManager } from '../../src/core/test-manager.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
} from '../../src/core/test-parts.js';
import { namedPolicies } from '../../src/policy/choices.js';

/** Blocks of a memory that is more than enough. */
export const ENOUGH = 512;
const CAME = 1;
const USED = 2;
/** In microseconds, about: what a fault, a copy and a page of it take. */
const [FAULT_US, COPY_US, PAGE_US] = [12, 3, 0.5];
/** What a page and a run of them take that are there, and are mapped for another process. */
const [MAPPED_US, MAP_US] = [0.25, 1];

export type Use = 'in' | 'out' | 'inout';

/** What is played on it, and what is counted. */
export class Machine {
  readonly manager: OpenManager;
  faults = 0;
  copies = 0;
  pages = 0;
  unused = 0;
  /** Microseconds that copies out of slow memory take besides. */
  slowUs = 0;
  /** Microseconds that it takes to map what is there for processors without memory of their own. */
  mapUs = 0;
  private readonly sharers = new Set<ProcessorId>();
  private requests = 0;
  private seed = 1;
  private readonly seen: Uint8Array[] = [];

  constructor(hostBlocks: number, policies: Policies = namedPolicies()) {
    const commands = commandsThat({
      transfer: ({ source, node, page, count }) => {
        this.copies++;
        const speed = source < 0 ? undefined : this.manager.node(source)?.description.speed;
        if (speed !== undefined)
          this.slowUs += speed.latencyUs + (count * PAGE_BYTES) / speed.bytesPerUs;
        this.pages += count;
        const seen = this.seenOn(node);
        for (let at = page; at < page + count; at++) {
          if (seen[at] === CAME) this.unused++;
          seen[at] = CAME;
        }
        return 0;
      },
      map: (processor, _page, count) => {
        if (this.sharers.has(processor)) this.mapUs += MAP_US + count * MAPPED_US;
      },
    });
    this.manager = managerOf(hostOf(hostBlocks, { units: 4 }), commands, policies, 4096);
  }

  device(blocks: number, more: Partial<DeviceDescription> = {}): ProcessorId {
    return this.manager.addDevice(deviceOf(blocks, more)).processor;
  }

  /** A processor without memory of its own: it reaches the host's in place. */
  attached(): ProcessorId {
    const processor = this.manager.addProcessor({ name: 'process', faults: true, units: 1 });
    this.sharers.add(processor);
    return processor;
  }

  /** Behind the host's memory: what it has no room for goes there. */
  store(): void {
    const node = this.manager.addNode(
      deviceOf(ENOUGH, { name: 'store', addressable: false }),
      NO_NODE,
    );
    this.manager.setHome(HOST_NODE, node);
  }

  /** Memory behind the host's that is as slow as is said. */
  slowMemory(speed: MemorySpeed): void {
    const node = this.manager.addNode(deviceOf(ENOUGH, { name: 'memory', speed }), NO_NODE);
    this.manager.setHome(HOST_NODE, node);
  }

  file(blocks: number): number {
    return allocateIn(this.manager, blocks * PAGES_PER_BLOCK, { provided: true, writable: false });
  }

  /** An array that the processor has written, after which counting begins. */
  array(pages: number, writer: ProcessorId = HOST): number {
    const first = allocateIn(this.manager, pages);
    for (let page = first; page < first + pages; page += 1) this.touch(writer, page, true);
    this.begin();
    return first;
  }

  /** An array that nobody has touched. */
  fresh(pages: number): number {
    return allocateIn(this.manager, pages);
  }

  begin(): void {
    this.faults = this.copies = this.pages = this.unused = this.slowUs = this.mapUs = 0;
    for (const seen of this.seen) seen?.fill(0);
  }

  /** What faults, copies and pages take together, in microseconds, about. */
  cost(): number {
    const copies = this.copies * COPY_US + this.pages * PAGE_US + this.slowUs;
    return this.faults * FAULT_US + copies + this.mapUs;
  }

  touch(processor: ProcessorId, page: number, write = false): void {
    if (!hasPage(this.manager, processor, page, write ? 'writable' : 'mapped')) {
      this.faults++;
      this.manager.fault(processor, page, write, 1);
      while (this.manager.waitsToGoAhead) this.manager.goAhead();
      if (!hasPage(this.manager, processor, page, write ? 'writable' : 'mapped'))
        throw new Error(`page ${page} has not come`);
    }
    const block = this.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    this.seenOn(block?.mappings[processor]?.node ?? NO_NODE)[page] = USED;
  }

  launch(
    processor: ProcessorId,
    args: readonly (readonly [first: number, count: number, use: Use])[],
    body: () => void,
    kernel = '',
  ): void {
    const launch = ++this.requests;
    const asked = args.map(([first, count, use]) => ({ first, count, use }));
    this.manager.launchBegin(launch, processor, asked, kernel);
    body();
    this.manager.launchEnd(launch);
  }

  /** Before a launch: blocks go where the policy of the processor has them. */
  arrange(processor: ProcessorId, first: number, count: number): void {
    this.manager.arrange(++this.requests, processor, [{ first, count }]);
  }

  /** A launch waits behind those before it. */
  waits(
    processor: ProcessorId,
    args: readonly (readonly [first: number, count: number, use: Use])[],
    kernel: string,
  ): void {
    const asked = args.map(([first, count, use]) => ({ first, count, use }));
    this.manager.launchWaits(processor, asked, kernel);
  }

  random(below: number): number {
    this.seed = (Math.imul(this.seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.seed / 2 ** 32) * below);
  }

  /** Pages that came and that nothing has used. */
  wasted(): number {
    let unused = this.unused;
    for (const seen of this.seen)
      if (seen !== undefined) for (const each of seen) if (each === CAME) unused++;
    return unused;
  }

  /** Pages that came to the memory of a processor, whose number is that of its node here. */
  pagesTo(processor: ProcessorId): number {
    const { pagesIn, pagesZeroed } = this.manager.state.nodes[processor]?.counters ?? {
      pagesIn: 0,
      pagesZeroed: 0,
    };
    return pagesIn + pagesZeroed;
  }

  evictions(): number {
    return this.manager.state.nodes.reduce((sum, node) => sum + (node?.counters.evictions ?? 0), 0);
  }

  private seenOn(node: number): Uint8Array {
    return (this.seen[node] ??= new Uint8Array(4096 * PAGES_PER_BLOCK));
  }
}
