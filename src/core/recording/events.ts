/**
 * What the core is told: its events are a union, and the methods of MemoryManager with these names
 * are the only door by which any of them comes in. What has an event to tell calls its method,
 * which makes no object of it; `dispatch` is for events that are objects already.
 */
import type { MemoryManager } from '../memory-manager.js';

/** Everything that changes the core. What is not here only asks. */
export const EVENTS = [
  'acquire',
  'addDevice',
  'addNode',
  'addProcessor',
  'advise',
  'allocate',
  'arrange',
  'blank',
  'bring',
  'clean',
  'cleaned',
  'copyOnWrite',
  'copyOnWriteBroken',
  'derive',
  'detach',
  'drop',
  'endHeard',
  'fault',
  'forgetUse',
  'forgot',
  'free',
  'goAhead',
  'grow',
  'guard',
  'launchBegin',
  'launchEnd',
  'launchWaits',
  'nodeFull',
  'nodeLost',
  'materialize',
  'pin',
  'processorLost',
  'protect',
  'providerRefuses',
  'recycle',
  'refuse',
  'release',
  'released',
  'removeNode',
  'revoked',
  'setBudget',
  'setHome',
  'spoiled',
  'stillNoRoom',
  'transferred',
  'unmapGranules',
  'unmapped',
  'used',
  'watch',
  'zero',
] as const satisfies readonly (keyof MemoryManager)[];
export type EventName = (typeof EVENTS)[number];
/** An event: its name, and the arguments of the method that handles it. */
export type CoreEvent = {
  [Name in EventName]: readonly [Name, ...Parameters<MemoryManager[Name]>];
}[EventName];

/** Tells a manager an event. Returns its answer, which most events do not have. */
export function dispatch(manager: MemoryManager, [name, ...args]: CoreEvent): unknown {
  return (manager[name] as (...args: unknown[]) => unknown).apply(manager, args);
}
