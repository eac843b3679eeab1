/** The door for tests of the core: the manager's books, which others know by queries alone. */
import { MemoryManager } from './memory-manager.js';
import type { State } from './table/state.js';

/** A manager whose state tests, the simulation and its audit can look at. */
export class OpenManager extends MemoryManager {
  declare readonly state: State;
}
