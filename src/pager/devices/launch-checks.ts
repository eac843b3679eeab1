/** What a launch's arguments must be before it begins, and the page to blame otherwise. */

import { Access, type DenyReason, PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchRefusal } from '../../drivers/process-driver.js';
import type { LaunchDivision, Planning } from '../../drivers/wgsl-launch.js';
import type { SpaceContext } from '../arrays/table/context.js';
import { type WireError, wireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import { type Launch, type LaunchOperation, lostError, messageOf } from './launch.js';
import { argumentsOf, type NamedArgument } from './launch-arguments.js';

/** The parts of a launch, or why it has none. */
export type Divided = { readonly division: LaunchDivision } | { readonly failure: WireError };

export class LaunchChecks {
  constructor(private readonly context: SpaceContext) {}

  /** Why a launch may not begin; null: it may. */
  problemOf(
    device: Device,
    operation: LaunchOperation,
    args: readonly NamedArgument[],
  ): WireError | null {
    const { kernelName } = operation;
    for (const { first, use, name, declared } of args) {
      const range = this.context.manager.pages.rangeOf(first);
      if (range === undefined || range.freedPages === range.pages) {
        return wireError('USE_AFTER_FREE', `kernel ${kernelName}: array ${name} has been freed`, {
          parameter: name,
        });
      }
      if (use !== 'in' && !range.writable) {
        return wireError(
          'ACCESS_DENIED',
          `kernel ${kernelName}: parameter ${name} is declared ${declared}, but array ${range.name} may only be read; ` +
            'open its file with writable: true, and without mapped',
          { parameter: name, array: range.name },
        );
      }
    }
    const { code } = operation;
    const refused =
      code.kind === 'wgsl' ? (device.process?.wgsl?.refuse({ ...operation, code }) ?? null) : null;
    if (refused !== null)
      return wireError(refused.code, messageOf(refused, kernelName), { kernel: kernelName });
    const { faults, budgetPages } = device.driver.description;
    const closed = this.closedPage(args, faults);
    if (closed !== -1)
      return this.context.places.denialError('NO_ACCESS', closed, `kernel ${kernelName}`, false);
    if (faults || device.process?.wgsl != null) return null;
    const pages = this.context.manager.launchPages(args, device.info.id);
    if (pages <= budgetPages) return null;
    return wireError(
      'DEVICE_MEMORY',
      `kernel ${kernelName} needs ${pages * PAGE_BYTES} bytes at once on ${device.info.name}, which has no page faults and ` +
        `${budgetPages * PAGE_BYTES} bytes; launch it over smaller arrays, or use a device with page faults`,
      {
        requestedBytes: pages * PAGE_BYTES,
        budgetBytes: budgetPages * PAGE_BYTES,
        node: device.info.name,
      },
    );
  }

  /** Whether a launch runs as a whole: its device has room for all of it. */
  isWhole(device: Device, operation: LaunchOperation): boolean {
    return this.slicesOf(device, operation) === null;
  }

  /** Finds in slices the parts of a launch without room, or why it has none; null: it fits. */
  divide(device: Device, operation: LaunchOperation): Planning<Divided> | null {
    const slices = this.slicesOf(device, operation);
    return slices && this.divided(device, operation, slices);
  }

  private *divided(
    { info }: Device,
    { kernelName, parameters }: LaunchOperation,
    slices: Planning<LaunchDivision | LaunchRefusal>,
  ): Planning<Divided> {
    const found = yield* slices;
    if ('count' in found) return { division: found };
    const details = {
      requestedBytes: this.pagesOf(parameters, info.id) * PAGE_BYTES,
      budgetBytes: info.memoryBytes,
      node: info.name,
    };
    const what = found.code === 'DEVICE_MEMORY' ? details : { kernel: kernelName };
    return { failure: wireError(found.code, messageOf(found, kernelName), what) };
  }

  private slicesOf({ info, process }: Device, operation: LaunchOperation) {
    const { code } = operation;
    if (code.kind !== 'wgsl') return null;
    return (
      process?.wgsl?.divide({ ...operation, code }, (parameters) =>
        this.pagesOf(parameters, info.id),
      ) ?? null
    );
  }

  private pagesOf(parameters: LaunchOperation['parameters'], device: number): number {
    return this.context.manager.launchPages(argumentsOf(parameters, this.context.table), device);
  }

  /** Why a launch may not have a page of its arguments; null: it may have them all. */
  denialOf({ info }: Device, args: readonly NamedArgument[]): DenyReason | null {
    for (const { first, count, use } of args) {
      const failure = this.context.manager.pages.denial(
        first,
        count,
        use === 'in' ? Access.Read : Access.Write,
        info.id,
      );
      if (failure !== null) return failure;
    }
    return null;
  }

  /** What a launch fails by that the core has refused its arguments. */
  denialError(launch: Launch, reason: DenyReason, args: readonly NamedArgument[]): WireError {
    const { device, kernel } = launch;
    return reason === 'DEVICE_LOST'
      ? lostError(device, launch, device.reason)
      : this.context.places.denialError(reason, this.pageOf(args, reason), kernel);
  }

  /** A page of the arguments that the failure is about. */
  private pageOf(args: readonly NamedArgument[], failure: DenyReason): number {
    for (const { first, count, use } of args) {
      if (use === 'in' && (failure === 'READ_ONLY' || failure === 'PINNED')) continue;
      const page = this.context.places.findDenied(failure, first, count);
      if (page !== -1) return page;
    }
    const first = args.map((each) => each.first);
    return this.context.places.failedLast(failure, first) ?? first[0] ?? 0;
  }

  /**
   * The first page that may not even be read of an array that the launch cannot do without, or -1.
   * It must be known before the launch's `out` arrays are emptied. A device with page faults may
   * leave out pages that it must not touch, if there are others.
   */
  private closedPage(args: readonly NamedArgument[], faults: boolean): number {
    for (const { first, count, use } of args) {
      const range = this.context.manager.pages.rangeOf(first);
      if (use === 'out' || range === undefined) continue;
      let page = -1;
      let closed = 0;
      range.protection.each(
        first - range.first,
        first - range.first + count,
        (from, to, allowed) => {
          if (allowed >= Access.Read) return;
          if (page === -1) page = range.first + from;
          closed += to - from;
        },
      );
      if (closed > 0 && (!faults || closed === count)) return page;
    }
    return -1;
  }
}
