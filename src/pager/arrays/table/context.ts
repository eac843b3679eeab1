/** What parts use that serve arrays, besides what all use. */
import type { ManagerContext } from '../../core/context.js';
import type { ArrayTable } from './array-table.js';
import type { Places } from './places.js';

export interface SpaceContext extends ManagerContext {
  /** The manager's address of page 0 of the host's memory. */
  readonly memory: number;
  readonly table: ArrayTable;
  readonly places: Places;
  /** Pages that the host's threads were denied have content again, or may be used again. */
  readonly restore: (firstPage: number, count: number) => void;
}
