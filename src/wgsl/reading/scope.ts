/** Which declaration a name means at a place in a function. */
import type { Local } from './tree.js';

export class Scope {
  readonly #outer: Scope | null;
  readonly #own = new Map<string, Local>();

  constructor(outer: Scope | null) {
    this.#outer = outer;
  }

  add(local: Local): void {
    this.#own.set(local.name, local);
  }

  find(name: string): Local | null {
    return this.#own.get(name) ?? this.#outer?.find(name) ?? null;
  }
}
