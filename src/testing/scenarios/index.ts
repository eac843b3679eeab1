/**
 * What every device must do, after the self-tests of heterogeneous memory in the Linux kernel. A
 * scenario compares data byte for byte, and figures where it says so. "By one call" means a
 * prefetch; a device with page faults is asked to fetch the same by faults, too.
 */
import type { Scenario } from '../suite.js';
import { access } from './access.js';
import { clones } from './clones.js';
import { exclusive } from './exclusive.js';
import { failures } from './failures.js';
import { figures } from './figures.js';
import { launches } from './launches.js';
import { migration } from './migration.js';
import { processes } from './processes.js';
import { resize } from './resize.js';
import { rights } from './rights.js';

export const scenarios: readonly Scenario[] = [
  ...access,
  ...migration,
  ...launches,
  ...rights,
  ...clones,
  ...exclusive,
  ...resize,
  ...failures,
  ...processes,
  ...figures,
];
