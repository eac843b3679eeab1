/**
 * Everything that a driver must do to join the conformance suite:
 *
 *   node conformance.js [--scenario NAME]... [--json] [--list]
 */
import { conformance, driverKind } from 'onemem/testing';

const module = new URL('./driver.js', import.meta.url);

await conformance(import.meta.url, [
  driverKind('compressed', { module, export: 'create' }, { refusesMemory: true }),
]);
