/**
 * Launches that go to a device together. One that is awaited takes a way to the device and back;
 * those behind it, which wait already, go together when it has ended: the device runs them in their
 * order without a word in between, and to the core they are one launch.
 */

import type { LaunchParameter, WgslLaunch } from '../../drivers/driver.js';
import type { SpaceContext } from '../arrays/context.js';
import type { SharedUses } from '../arrays/shared-uses.js';
import type { Device } from './device.js';
import { argumentsOf, arrayPages, type NamedArgument } from './launch-arguments.js';
import type { LaunchChecks } from './launch-checks.js';
import type { Joined, LaunchRecord } from './launch-record.js';
import { PageUses } from './page-uses.js';

/** What a launch adds to what those before it use. */
interface Addition {
  readonly args: readonly NamedArgument[];
  /** With `out` for what may be empty before the first one runs. */
  readonly parameters: readonly LaunchParameter[];
  readonly zeroed: readonly string[];
}

export class JoinedLaunches {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
    private readonly sharing: SharedUses,
  ) {}

  /** Those of the launches that wait behind one which may go with it; null: none may. */
  behind(device: Device, record: LaunchRecord, waiting: readonly LaunchRecord[]): Joined | null {
    const most = device.process?.launchesAtOnce ?? 1;
    if (most === 1 || waiting.length === 0 || !this.mayJoin(device, record)) return null;
    const { parameters } = record.operation;
    const uses = new PageUses();
    uses.add(argumentsOf(parameters, this.context.table));
    const all = [...parameters];
    const records: LaunchRecord[] = [];
    const zeroed = new Map<LaunchRecord, readonly string[]>();
    for (const each of waiting.slice(0, most - 1)) {
      if (!this.mayJoin(device, each)) break;
      const added = this.additionOf(each, uses);
      const { budgetPages } = device.driver.description;
      if (this.context.manager.launchPages(uses.with(added.args)) > budgetPages) break;
      uses.add(added.args);
      all.push(...added.parameters);
      records.push(each);
      zeroed.set(each, added.zeroed);
    }
    return records.length === 0 ? null : { records, args: uses.all, parameters: all, zeroed };
  }

  /**
   * Whether a launch may go with others: nothing is left that could have it fail before its kernel
   * runs.
   */
  private mayJoin(device: Device, { operation, sharing, failure, ending }: LaunchRecord): boolean {
    const { code, parameters, timeoutMs, indirect } = operation;
    if (
      indirect !== undefined ||
      code.kind !== 'wgsl' ||
      timeoutMs !== null ||
      sharing !== null ||
      failure !== null ||
      ending !== null
    )
      return false;
    const launch: Omit<WgslLaunch, 'id'> = { ...operation, code };
    if (device.process?.joins?.(launch) !== true) return false;
    const args = argumentsOf(parameters, this.context.table);
    return (
      this.checks.problemOf(device, operation, args) === null &&
      this.checks.isWhole(device, operation) &&
      this.checks.denialOf(device, args) === null &&
      !this.sharing.isNeeded(args)
    );
  }

  private additionOf({ operation }: LaunchRecord, uses: PageUses): Addition {
    const zeroed: string[] = [];
    const parameters = operation.parameters.map((each) => {
      if (each.kind !== 'array' || each.use !== 'out') return each;
      const [{ first, end }] = arrayPages([each]);
      if (!uses.overlaps(first, end)) return each;
      zeroed.push(each.name);
      return { ...each, use: 'inout' as const };
    });
    return { args: argumentsOf(parameters, this.context.table), parameters, zeroed };
  }
}
