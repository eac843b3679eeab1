/** Processors and nodes that come: whether there is a place for them, and which number they get. */

import {
  type DeviceDescription,
  HOST_NODE,
  MAX_NODES,
  MAX_PROCESSORS,
  NO_NODE,
  type NodeDescription,
  type NodeId,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type ProcessorDescription,
  type ProcessorId,
} from '../basics/types.js';
import { createNode } from '../table/nodes.js';
import { createProcessor } from '../table/processors.js';
import { nodeOf, type State, usesHostMemory } from '../table/state.js';

/** A processor with a memory of its own. */
export function addDevice(
  state: State,
  description: DeviceDescription,
  home: NodeId,
): { processor: ProcessorId; node: NodeId } {
  checkBudget(description);
  checkPlace(state, description);
  const node = addNode(state, description, home);
  return { processor: join(state, description, node), node };
}

export function addNode(state: State, description: NodeDescription, home: NodeId): NodeId {
  if (home !== NO_NODE) nodeOf(state, home);
  const id = freeNode(state);
  if (id >= MAX_NODES)
    throw new RangeError(`${description.name}: there are ${MAX_NODES} memories already`);
  state.nodes[id] = createNode(id, description, home, state.policies.eviction());
  return id;
}

/** A processor without memory of its own. */
export function addProcessor(state: State, description: ProcessorDescription): ProcessorId {
  if (!description.faults)
    throw new RangeError(
      `${description.name}: a processor that does not fault needs memory of its own, in which the pages of a launch are held`,
    );
  checkPlace(state, description);
  checkHostMemory(state, description);
  return join(state, description, NO_NODE);
}

export function setHome(state: State, node: NodeId, home: NodeId): void {
  for (let at = home; at !== NO_NODE; at = nodeOf(state, at).home)
    if (at === node)
      throw new RangeError(
        `node ${node} cannot be at home at node ${home}, whose own pages go there`,
      );
  nodeOf(state, node).home = home;
}

function join(state: State, description: ProcessorDescription, localNode: NodeId): ProcessorId {
  const id = freeProcessor(state);
  state.processors[id] = createProcessor(state.policies, id, description, localNode);
  const node = state.nodes[localNode];
  if (node !== undefined) node.owner = id;
  return id;
}

/** Throws a RangeError if its threads could take each other's pages for ever. */
function checkBudget(description: DeviceDescription): void {
  const { name, faults, units, budgetPages, granularityBytes = PAGE_BYTES } = description;
  const granule = Math.max(PAGES_PER_BLOCK, granularityBytes / PAGE_BYTES);
  const least = (units + 1) * granule;
  if (faults && budgetPages < least) {
    const size = `${granule / (2 ** 20 / PAGE_BYTES)} MiB`;
    throw new RangeError(
      `${name}: a budget of ${budgetPages} pages is too small for ${units} threads ` +
        `that fault at once; it must be at least ${least} pages (${size} a thread, and ${size})`,
    );
  }
}

/** Threads of the host, and of all others that reach its memory, wait there for their pages. */
function checkHostMemory(state: State, { name, units }: ProcessorDescription): void {
  const { budgetPages } = nodeOf(state, HOST_NODE);
  let blocks = units + 1;
  for (const each of state.processors)
    if (each !== undefined && usesHostMemory(each)) blocks += each.description.units;
  if (blocks * PAGES_PER_BLOCK <= budgetPages) return;
  const [least, budget] = [blocks * PAGES_PER_BLOCK, budgetPages].map((pages) => pages / 256);
  throw new RangeError(
    `${name}: host memory of ${budget} MiB is too small for one more process; it must be at least ${least} MiB ` +
      '(2 MiB for each thread of the owner, 2 MiB for each attached process, and 2 MiB); ' +
      'raise hostMemory, or end a process that is attached',
  );
}

function checkPlace(state: State, { name }: ProcessorDescription): void {
  if (freeProcessor(state) >= MAX_PROCESSORS) {
    throw new RangeError(
      `${name}: there are ${MAX_PROCESSORS} processors already, the host among them; detach one before another is added`,
    );
  }
}

/** What goes by a number that is given again would be told of the end of the one before. */
function freeProcessor({ processors, unheard }: State): ProcessorId {
  let id = 0;
  while (processors[id] !== undefined || unheard.some(({ processor }) => processor === id)) id++;
  return id;
}

function freeNode({ nodes, unheard }: State): NodeId {
  let id = 0;
  while (nodes[id] !== undefined || unheard.some(({ node }) => node === id)) id++;
  return id;
}
