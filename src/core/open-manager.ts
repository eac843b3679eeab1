/**
 * The door for tests of the core: what is in the manager's books, which others know by queries
 * alone.
 */
import { MemoryManager } from './memory-manager.js';
import type { State } from './table/state.js';

/**
 * A manager whose state can be looked at. Nothing but tests, the simulation and its audit has one.
 */
export class OpenManager extends MemoryManager {
  declare readonly state: State;
}
