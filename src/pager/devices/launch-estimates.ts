/** What would become of a launch: checks and planning as of any, without the run. */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import { plannedDispatches } from '../../drivers/planned-dispatches.js';
import type { PagedPart, Planning } from '../../drivers/wgsl-launch.js';
import type { SharedUses } from '../arrays/shared/shared-uses.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Uses } from '../arrays/uses.js';
import type { LaunchForecast, LaunchRequest } from '../protocol/operations.js';
import { toWire, type WireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import type { Devices } from './devices.js';
import type { LaunchOperation } from './launch.js';
import { argumentsOf, arrayPages, type NamedArgument } from './launch-arguments.js';
import { type Divided, LaunchChecks } from './launch-checks.js';
import type { LaunchPlans } from './launch-plans.js';
import { readSize } from './launch-sizes.js';

type Done = (forecast: LaunchForecast | null, failure: WireError | null) => void;

interface Moved {
  in: number;
  out: number;
}

export class LaunchEstimates {
  private readonly checks: LaunchChecks;

  constructor(
    private readonly context: SpaceContext,
    private readonly parts: {
      readonly devices: Devices;
      readonly plans: LaunchPlans;
      readonly sharedUses: SharedUses;
      readonly uses: Uses;
    },
  ) {
    this.checks = new LaunchChecks(context);
  }

  start(request: LaunchRequest, done: Done): void {
    const { devices, uses, sharedUses } = this.parts;
    const operation = { ...request, stream: 0, sequence: 0 };
    const kernel = `kernel ${request.kernelName}`;
    const device = devices.byNumber(request.device);
    if (device?.alive !== true) {
      done(this.lost(request), null);
      return;
    }
    try {
      uses.check(operation);
    } catch (error) {
      done(refused(toWire(error)), null);
      return;
    }
    uses.begin(operation);
    const ended: Done = (forecast, failure) => {
      uses.end(operation);
      done(forecast, failure);
    };
    const args = argumentsOf(operation.parameters, this.context.table);
    sharedUses.during(
      `an estimate of ${kernel}`,
      args.map(({ first, count }) => ({ first, count, write: false })),
      (end) =>
        this.withSize(device, operation, (forecast) => {
          const failure = end(null);
          ended(failure === null ? forecast : null, failure);
        }),
      (failure) => ended(null, failure),
    );
  }

  private lost({ device, kernelName }: LaunchRequest): LaunchForecast {
    return refused(this.parts.devices.lossError(device, `cannot launch ${kernelName}`));
  }

  private withSize(
    device: Device,
    operation: LaunchOperation,
    done: (forecast: LaunchForecast) => void,
  ): void {
    const args = argumentsOf(operation.parameters, this.context.table);
    const problem = this.checks.problemOf(device, operation, args);
    if (problem !== null) done(refused(problem));
    else if (operation.indirect === undefined) this.forecast(device, operation, args, done);
    else
      readSize(this.context, operation, (sized, failure) => {
        if (sized === null) done(refused(failure as WireError));
        else if (sized.size === 0) done(NOTHING);
        else this.withSize(device, sized, done);
      });
  }

  private forecast(
    device: Device,
    operation: LaunchOperation,
    args: readonly NamedArgument[],
    done: (forecast: LaunchForecast) => void,
  ): void {
    const slices = device.alive ? this.checks.divide(device, operation) : null;
    const isOver = (): boolean => !device.alive;
    if (isOver()) done(this.lost(operation));
    else if (slices === null) done(this.whole(device, args));
    else
      this.parts.plans.start(this.divided(slices, operation), isOver, (forecast) =>
        done(forecast ?? this.lost(operation)),
      );
  }

  private whole({ info, driver }: Device, args: readonly NamedArgument[]): LaunchForecast {
    const { faults, budgetPages } = driver.description;
    const isLarger = this.context.manager.launchPages(args, info.id) > budgetPages;
    const moved = { in: 0, out: 0 };
    for (const { count, use } of args) countBytes(moved, use, count * PAGE_BYTES);
    return {
      ...NOTHING,
      parts: 1,
      paging: faults && isLarger ? 'faults' : 'none',
      bytesIn: moved.in,
      bytesOut: moved.out,
    };
  }

  private *divided(
    slices: Planning<Divided>,
    { parameters: given }: LaunchOperation,
  ): Planning<LaunchForecast> {
    const found = yield* slices;
    if ('failure' in found) return refused(found.failure);
    const { division } = found;
    const { way, count: parts } = division;
    const moved = { in: 0, out: 0 };
    // They are emptied before the first part, and parts only write them.
    const emptied = given.filter((each) => each.kind === 'array' && each.use === 'out');
    const isEmptied = ({ first }: NamedArgument): boolean =>
      arrayPages(emptied).some((each) => each.first <= first && first < each.end);
    let before: readonly NamedArgument[] = [];
    let why: string | null = null;
    let isKnown = true;
    for (let index = 0; index < parts; index++) {
      yield;
      const { parameters, part } = division.partAt(index, 0);
      const paged = part?.paged;
      const args = argumentsOf(windowsOf(parameters, paged), this.context.table);
      for (const each of args)
        countBytes(moved, isEmptied(each) ? 'out' : each.use, newBytes(each, before));
      before = args;
      if (paged === undefined) continue;
      why = paged.why;
      const bytes: number | null = isKnown ? yield* plannedBytes(paged) : null;
      if (bytes === null) isKnown = false;
      else moved.in += bytes;
    }
    const paging = way === 'windowed' ? 'none' : isKnown ? 'planned' : 'rounds';
    return {
      way,
      parts,
      paging,
      bytesIn: isKnown ? moved.in : null,
      bytesOut: isKnown ? moved.out : null,
      why,
      failure: null,
    };
  }
}

const NOTHING: LaunchForecast = {
  way: 'direct',
  parts: 0,
  paging: 'none',
  bytesIn: 0,
  bytesOut: 0,
  why: null,
  failure: null,
};

function refused(failure: WireError): LaunchForecast {
  return { ...NOTHING, way: 'refused', failure };
}

function countBytes(moved: Moved, use: NamedArgument['use'], bytes: number): void {
  if (use !== 'out') moved.in += bytes;
  if (use !== 'in') moved.out += bytes;
}

/** Of the pages of an argument, those that the part before has not had. */
function newBytes(argument: NamedArgument, before: readonly NamedArgument[]): number {
  let { count } = argument;
  for (const each of before) {
    if (each.name !== argument.name) continue;
    const end = Math.min(argument.first + argument.count, each.first + each.count);
    count -= Math.max(0, end - Math.max(argument.first, each.first));
  }
  return count * PAGE_BYTES;
}

/** The arguments without those that have the memory for pages. */
function windowsOf(parameters: readonly LaunchParameter[], paged: PagedPart | undefined) {
  const names = (paged?.rounds.tables ?? []).map(({ name }) => name);
  return parameters.filter(({ name }) => !names.includes(name));
}

/** Bytes of pages that a part brings by its plan; null: it has none, and runs in rounds. */
function* plannedBytes(paged: PagedPart): Planning<number | null> {
  const dispatches = yield* plannedDispatches(paged);
  if (dispatches === null || dispatches === 'lost') return null;
  let bytes = 0;
  for (const { wanted } of dispatches) {
    yield;
    for (const copy of paged.rounds.admit(wanted)) bytes += copy.bytes;
  }
  return bytes;
}
