/** Hands a launch, or what comes next of it, to its driver, which tells of its end. */
import type { WgslCode, WgslLaunch } from '../../../drivers/wgsl-launch.js';
import type { Handed, Launch, LaunchQueue } from '../launch.js';
import type { NextLaunch } from '../next-launch.js';
import type { Stage } from './stage.js';

export class Running implements Stage {
  constructor(private readonly next: NextLaunch) {}

  run(launch: Launch): void {
    const { id, device, handed, work, operation, queue } = launch;
    const { kernelName, code, size } = operation;
    if (handed === null) throw new Error('a launch that is handed over has been mapped');
    launch.state = 'running';
    const isFirst = work.kind === 'whole' || work.part === 0;
    if (handed.begin === operation.begin && isFirst) launch.count();
    if (code.kind === 'wgsl') this.runWgsl(launch, code, handed);
    else device.driver.launch?.({ id, kernelName, size, code, ...handed });
    if (work.kind === 'whole') work.plan?.prepare();
    this.bringNext(queue);
  }

  /** Has what the next launch uses come while the one before it runs. */
  bringNext({ device, launches }: LaunchQueue): void {
    const [running] = launches;
    if (!running.isHandedOver) return;
    const next = launches[running.together.length];
    if (next !== undefined) this.next.bring(device, running, next);
  }

  private runWgsl(launch: Launch, code: WgslCode, { parameters }: Handed): void {
    const { device, work, cut } = launch;
    if (cut !== null) device.figures.launchParts++;
    const first = { ...wgslLaunchOf(launch, code), parameters, ...cut };
    const joined = work.kind === 'whole' ? work.joined : null;
    const others = (joined?.launches ?? []).map((each) => {
      each.state = 'running';
      each.count();
      device.figures.joinedLaunches++;
      const zeroed = joined?.zeroed.get(each) ?? [];
      return { ...wgslLaunchOf(each, each.operation.code as WgslCode), zeroed };
    });
    device.process?.wgsl?.launchWgsl([first, ...others]);
  }
}

function wgslLaunchOf({ id, operation }: Launch, code: WgslCode): WgslLaunch {
  const { kernelName, parameters, begin, end, size, dimensions } = operation;
  return {
    id,
    kernelName,
    parameters,
    begin,
    end,
    size,
    code,
    ...(dimensions === undefined ? {} : { dimensions }),
  };
}
