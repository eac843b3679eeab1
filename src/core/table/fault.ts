/** What a fault is about, in one record for all that it passes through, so that none allocates. */
import { Access } from '../basics/types.js';
import type { Node } from './nodes.js';
import type { Processor } from './processors.js';
import type { Block, Mapping } from './va-block.js';

export class Fault {
  block!: Block;
  processor!: Processor;
  mapping!: Mapping;
  /** The memory that the mapping points to. */
  node!: Node;
  page = 0;
  /** A thread waits to write. */
  write = false;
  /** The right that the processor is to get. */
  access: Access = Access.Read;

  of(block: Block, processor: Processor, mapping: Mapping, node: Node): void {
    this.block = block;
    this.processor = processor;
    this.mapping = mapping;
    this.node = node;
  }
}
