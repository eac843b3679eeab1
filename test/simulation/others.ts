/**
 * Arrays that other machines have, too: a member that says what is to be done with their blocks, a
 * server that has their contents, and other machines that write whenever this one may not read.
 * What threads of this machine read must be what was written last, wherever.
 */
import { Access, type DenyReason } from '../../src/core/basics/types.js';
import { type MemberPort, SharedBlocks } from '../../src/pager/arrays/shared/shared-blocks.js';
import type { CoreRequests } from '../../src/pager/core/core-requests.js';
import { type Memory, newMemory } from './memories.js';
import type { Random } from './random.js';
import type { World } from './world.js';

const SIZES = [3, 40, 200, 700];
const BLOCK_PAGES = [1, 4, 16, 512];
const ACCESS = { none: Access.None, read: Access.Read, write: Access.Write } as const;
const RIGHTS = ['read', 'write'] as const;

/** Values of pages. */
type Content = readonly number[];

interface Shared {
  readonly memory: Memory;
  readonly blocks: SharedBlocks<Content>;
  readonly pagesPerBlock: number;
  readonly parts: Part[];
  /**
   * What was written here cannot be had any more: the member has left without it, as if the machine
   * had died.
   */
  abandoned: boolean;
}

/** A block, as the member and the server know it. */
interface Part {
  right: 'none' | 'read' | 'write';
  doing: 'nothing' | 'installing' | 'restricting' | 'stuck';
  target: 'none' | 'read' | 'write';
  wanted: 'none' | 'read' | 'write';
  server: number[];
  /** This machine has what the server has. */
  here: boolean;
}

export class Others {
  private readonly all: Shared[] = [];

  constructor(
    private readonly world: World,
    private readonly random: Random,
    private readonly requests: CoreRequests,
  ) {}

  get any(): boolean {
    return this.all.length > 0;
  }

  get memories(): readonly Memory[] {
    return this.all.map(({ memory }) => memory);
  }

  /** Whether the member has something to do for threads that wait, or goes on with something. */
  get isBusy(): boolean {
    return this.all.some(({ parts, abandoned }) =>
      parts.some(({ doing, wanted }) => wanted !== 'none' || (doing !== 'nothing' && !abandoned)),
    );
  }

  share(): void {
    const { world, random } = this;
    const pages = random.pick(SIZES);
    if (!world.tight && pages > world.hostPages - world.usedPages()) return;
    const pagesPerBlock = random.pick(BLOCK_PAGES);
    const options = { name: 's', provided: true, writable: true, shared: true };
    const range = world.manager.allocate(pages, options);
    if (range === null) return;
    world.begin(range, true);
    world.rights.fill(Access.None, range.first, range.first + pages);
    world.shadow.fill(0, range.first, range.first + pages);
    if (random.chance(0.5)) world.manager.watch(range, 1);
    const memory = newMemory(range, null);
    const count = Math.ceil(pages / pagesPerBlock);
    const parts = Array.from({ length: count }, (_, block): Part => {
      const size = Math.min(pagesPerBlock, pages - block * pagesPerBlock);
      return {
        right: 'none',
        doing: 'nothing',
        target: 'none',
        wanted: 'none',
        server: new Array(size).fill(0),
        here: false,
      };
    });
    const member: MemberPort<Content> = {
      touch: (block, right) => {
        if (ACCESS[right] > ACCESS[parts[block].wanted]) parts[block].wanted = right;
      },
      installed: (block) => this.end(shared, block, parts[block].target),
      notInstalled: (block) => {
        // Threads that wait for it are denied it, or ask again.
        parts[block].wanted = 'none';
        this.end(shared, block, 'none');
      },
      restricted: (block, content) => this.restricted(shared, block, content),
      broken: (block, reason) => {
        this.world.trace(() => `  block ${block} of ${range.first} cannot be copied: ${reason}`);
        if (reason !== 'LOST' && reason !== 'CORRUPTED') parts[block].doing = 'stuck';
        else shared.abandoned = true;
      },
    };
    const blocks = new SharedBlocks<Content>(
      world.manager,
      this.requests,
      range,
      pagesPerBlock,
      {
        fill: (content, from, each, target) =>
          world.sources.write(target, each, (at) => content[from + at]),
        copy: (page, each) => Array.from({ length: each }, (_, at) => world.host.value(page + at)),
      },
      member,
      () => undefined,
    );
    const shared: Shared = { memory, blocks, pagesPerBlock, parts, abandoned: false };
    world.trace(() => `  range ${range.first}+${pages} is shared by blocks of ${pagesPerBlock}`);
    this.all.push(shared);
  }

  wanted(page: number, write: boolean): void {
    this.of(page)?.blocks.wanted(page, write);
  }

  /** Undefined: the page is of no shared array. */
  of(page: number): Shared | undefined {
    return this.all.find(
      ({ memory: { range } }) => page >= range.first && page < range.first + range.pages,
    );
  }

  provide(
    page: number,
    count: number,
    target: number,
  ): ReturnType<SharedBlocks<Content>['provide']> | null {
    return this.of(page)?.blocks.provide(page, count, target) ?? null;
  }

  /** Something that the member, or another machine, does. */
  act(): void {
    const { random, world } = this;
    const shared = random.pick(this.all);
    const { parts, blocks } = shared;
    const busy = parts.flatMap(({ doing, wanted }, at) =>
      doing === 'stuck' || wanted !== 'none' ? [at] : [],
    );
    const block =
      busy.length > 0 && (world.closing || random.chance(0.6))
        ? random.pick(busy)
        : random.below(parts.length);
    const part = parts[block];
    const { first, count } = blocks.pagesOf(block);
    if (shared.abandoned) this.refuse(shared, block, 'LOST');
    else if (part.doing === 'stuck') this.restrict(shared, block, part.target as 'none' | 'read');
    else if (part.doing !== 'nothing') return;
    else if (ACCESS[part.wanted] > ACCESS[part.right]) {
      if (!world.closing && random.chance(0.1)) {
        world.behind.everAway = true;
        this.refuse(shared, block, 'NODE_LOST');
      } else
        this.install(
          shared,
          block,
          random.chance(0.2) ? random.pick(RIGHTS) : (part.wanted as 'read' | 'write'),
        );
    } else if (part.right !== 'none' && !world.closing)
      this.restrict(shared, block, part.right === 'write' && random.chance(0.5) ? 'read' : 'none');
    else if (part.right === 'none' && !world.closing) {
      const page = random.below(count);
      part.server[page] = world.write(first + page);
      part.here = false;
    } else part.wanted = 'none';
  }

  private refuse({ blocks, parts }: Shared, block: number, reason: DenyReason): void {
    this.world.trace(() => `  block ${block} of ${blocks.pagesOf(0).first} is refused: ${reason}`);
    parts[block].wanted = 'none';
    blocks.refuse(block, reason);
  }

  private install(shared: Shared, block: number, right: 'read' | 'write'): void {
    const part = shared.parts[block];
    const content = part.here ? null : [...part.server];
    this.world.trace(
      () => `  block ${block} of ${shared.memory.range.first}: install ${content} with ${right}`,
    );
    this.begin(shared, block, 'installing', right);
    part.here = true;
    shared.blocks.install(block, content, right);
  }

  private restrict(shared: Shared, block: number, right: 'none' | 'read'): void {
    this.world.trace(
      () => `  block ${block} of ${shared.memory.range.first}: restrict to ${right}`,
    );
    this.begin(shared, block, 'restricting', right);
    shared.blocks.restrict(block, right);
  }

  private restricted(shared: Shared, block: number, content: Content | null): void {
    const { parts, blocks } = shared;
    const part = parts[block];
    const { first } = blocks.pagesOf(block);
    if (content !== null) {
      for (const [at, value] of content.entries())
        this.world.check(first + at, value, 'the server');
      part.server = [...content];
      blocks.clean(block);
    } else if (part.right === 'write')
      throw new Error(`block ${block} could be written, and has no content for the server`);
    this.end(shared, block, part.target);
  }

  private begin(
    { blocks, parts }: Shared,
    block: number,
    doing: Part['doing'],
    target: Part['target'],
  ): void {
    const part = parts[block];
    const { first, count } = blocks.pagesOf(block);
    if (part.doing === 'nothing')
      for (let page = first; page < first + count; page++) this.world.changing[page]++;
    part.doing = doing;
    part.target = target;
  }

  /** From now on threads have this right, as far as anybody else knows. */
  private end({ blocks, parts }: Shared, block: number, right: Part['right']): void {
    const part = parts[block];
    const { first, count } = blocks.pagesOf(block);
    part.doing = 'nothing';
    part.right = right;
    if (ACCESS[part.wanted] <= ACCESS[right]) part.wanted = 'none';
    for (let page = first; page < first + count; page++) {
      this.world.changing[page]--;
      this.world.rights[page] = ACCESS[right];
    }
  }
}
