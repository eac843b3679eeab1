/** All states that a setting can come to. A state that two ways lead to is looked at once. */
import { createHash } from 'node:crypto';
import { type Action, type Setting, Violation, World } from './world.js';

export interface Explored {
  readonly states: number;
  readonly ends: number;
  /** The shortest way to what must not be, and what that is. */
  readonly violation: { readonly text: string; readonly way: readonly Action[] } | null;
  /** False when there are more states than were to be looked at. */
  readonly complete: boolean;
}

interface Way {
  readonly action: Action;
  readonly before: Way | null;
}

/** Hundreds of thousands of states are remembered by what is left of them here. */
function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64');
}

function wayOf(way: Way | null): Action[] {
  const actions: Action[] = [];
  for (let at = way; at !== null; at = at.before) actions.unshift(at.action);
  return actions;
}

export function explore(setting: Setting, most: number): Explored {
  const begin = new World(setting);
  begin.start();
  const first = JSON.stringify(begin.state);
  const known = new Set([digest(first)]);
  let frontier: { text: string; way: Way | null }[] = [{ text: first, way: null }];
  let ends = 0;
  const open = (text: string): World => new World(setting, JSON.parse(text) as World['state']);
  while (frontier.length > 0) {
    const next: typeof frontier = [];
    for (const { text, way } of frontier) {
      const { steps, failures } = open(text).actions();
      let step: Way | null = way;
      try {
        if (steps.length === 0) {
          ends++;
          open(text).end();
        }
        for (const action of [...steps, ...failures]) {
          step = { action, before: way };
          const world = open(text);
          world.take(action);
          const reached = JSON.stringify(world.state);
          const name = digest(reached);
          if (known.has(name)) continue;
          if (known.size >= most)
            return { states: known.size, ends, violation: null, complete: false };
          known.add(name);
          next.push({ text: reached, way: step });
        }
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        const violation = { text: error.message, way: wayOf(step) };
        return { states: known.size, ends, violation, complete: false };
      }
    }
    frontier = next;
  }
  return { states: known.size, ends, violation: null, complete: true };
}
