/**
 * Launches that go to a device together. One that is awaited takes a way to the device and back;
 * those behind it, which wait already, go together when it has ended: the device runs them in their
 * order without a word in between, and to the core they are one launch.
 */

import type { LaunchParameter } from '../../../drivers/driver.js';
import type { WgslLaunch } from '../../../drivers/wgsl-launch.js';
import type { SharedUses } from '../../arrays/shared/shared-uses.js';
import type { SpaceContext } from '../../arrays/table/context.js';
import type { Device } from '../device.js';
import type { Joined, Launch } from '../launch.js';
import { argumentsOf, arrayPages, type NamedArgument } from '../launch-arguments.js';
import type { LaunchChecks } from '../launch-checks.js';
import { PageUses } from '../page-uses.js';
import type { Stage } from './stage.js';

/** What a launch adds to what those before it use. */
interface Addition {
  readonly args: readonly NamedArgument[];
  /** With `out` for what may be empty before the first one runs. */
  readonly parameters: readonly LaunchParameter[];
  readonly zeroed: readonly string[];
}

export class JoinedLaunches implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
    private readonly sharedUses: SharedUses,
  ) {}

  run(launch: Launch, done: () => void): void {
    if (launch.work.kind === 'whole') launch.work.joined = this.behind(launch);
    done();
  }

  /** Those of the launches that wait behind one which may go with it; null: none may. */
  private behind(launch: Launch): Joined | null {
    const { device, queue } = launch;
    const waiting = queue.launches.slice(1);
    const most = device.process?.wgsl?.launchesAtOnce ?? 1;
    if (most === 1 || waiting.length === 0 || !this.mayJoin(device, launch)) return null;
    const { parameters } = launch.operation;
    const uses = new PageUses();
    uses.add(argumentsOf(parameters, this.context.table));
    const all = [...parameters];
    const launches: Launch[] = [];
    const zeroed = new Map<Launch, readonly string[]>();
    for (const each of waiting.slice(0, most - 1)) {
      if (!this.mayJoin(device, each)) break;
      const added = this.additionOf(each, uses);
      const { budgetPages } = device.driver.description;
      const pages = this.context.manager.launchPages(uses.with(added.args), device.info.id);
      if (pages > budgetPages) break;
      uses.add(added.args);
      all.push(...added.parameters);
      launches.push(each);
      zeroed.set(each, added.zeroed);
    }
    return launches.length === 0 ? null : { launches, args: uses.all, parameters: all, zeroed };
  }

  /** Whether a launch may go with others: nothing can fail before its kernel runs. */
  private mayJoin(device: Device, { operation, sharedUse, failure, ending }: Launch): boolean {
    const { code, parameters, timeoutMs, indirect } = operation;
    if (
      indirect !== undefined ||
      code.kind !== 'wgsl' ||
      timeoutMs !== null ||
      sharedUse !== null ||
      failure !== null ||
      ending !== null
    )
      return false;
    const launch: Omit<WgslLaunch, 'id'> = { ...operation, code };
    if (device.process?.wgsl?.joins(launch) !== true) return false;
    const args = argumentsOf(parameters, this.context.table);
    return (
      this.checks.problemOf(device, operation, args) === null &&
      this.checks.isWhole(device, operation) &&
      this.checks.denialOf(device, args) === null &&
      !this.sharedUses.isNeeded(args)
    );
  }

  private additionOf({ operation }: Launch, uses: PageUses): Addition {
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
