/** Where a processor finds blocks that it could reach in host memory. */
import type { PlacementPolicy } from '../../core/basics/types.js';

/** In place where the program has said `accessedBy`; everything else migrates. */
export const advised: PlacementPolicy = ({ advised: isAdvised }) => (isAdvised ? 'remote' : 'own');

/** Everything migrates, whatever was advised: for comparisons. */
export const migrate: PlacementPolicy = () => 'own';
