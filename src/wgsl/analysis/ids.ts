/** What an invocation is told by builtins: its ids, and how many workgroups there are. */

import type { Description } from '../reading/describe.js';
import type { Local } from '../reading/tree.js';
import { builtinIn } from '../reading/walk.js';
import type { LaunchFacts } from './access.js';
import type { Arithmetic } from './arithmetic.js';
import type { Symbols } from './facts.js';
import { GLOBAL_ID, LOCAL_ID, symbol, WORKGROUP_ID } from './forms.js';
import { integer, UNKNOWN, type Value } from './values.js';

export class Ids {
  constructor(
    private readonly description: Description,
    private readonly launch: LaunchFacts | null,
    private readonly symbols: Symbols,
    private readonly arithmetic: Arithmetic,
  ) {}

  /** Of the builtin with this name. */
  value(name: string): Value {
    const ids = (first: number): Value => ({
      kind: 'vector',
      elements: [0, 1, 2].map((axis) => this.id(first + axis)),
    });
    switch (name) {
      case 'global_invocation_id':
        return ids(GLOBAL_ID);
      case 'workgroup_id':
        return ids(WORKGROUP_ID);
      case 'local_invocation_id':
        return ids(LOCAL_ID);
      case 'local_invocation_index': {
        const [x, y] = this.description.entryPoint.workgroupSize;
        const terms = [1, x, x * y].flatMap((factor, axis) => {
          const { lo, hi } = this.symbols.range(LOCAL_ID + axis);
          return lo === hi ? [] : [[LOCAL_ID + axis, factor] as const];
        });
        return integer('u32', { terms, constant: 0 });
      }
      case 'num_workgroups': {
        const counts = this.launch?.workgroups;
        const element = (axis: number) =>
          counts
            ? integer('u32', counts[axis] as number)
            : this.arithmetic.between('u32', { lo: 1, hi: 2 ** 32 - 1 });
        return { kind: 'vector', elements: [0, 1, 2].map(element) };
      }
      default:
        return name.startsWith('subgroup') ? this.arithmetic.any('u32') : UNKNOWN;
    }
  }

  private id(id: number): Value {
    const { lo, hi } = this.symbols.range(id);
    return integer('u32', lo === hi ? lo : symbol(id));
  }

  /** Of a parameter whose members are builtins; null: it has none. */
  structure(local: Local): Value | null {
    const struct = local.type && this.description.module.structs.get(local.type.name);
    if (!struct) return null;
    const members = struct.members.map(({ name, attributes }): [string, Value] => {
      const builtin = builtinIn(attributes);
      return [name, builtin === null ? UNKNOWN : this.value(builtin.name)];
    });
    return { kind: 'structure', members: new Map(members) };
  }
}
