/** What a run waits for most: the disk, copies between memories, fault handling, or a kernel. */
import type { Activity } from './activity.js';

export interface Bottleneck {
  /** `program`: none of the others takes much of the time. */
  readonly what: 'disk' | 'copy' | 'faults' | 'kernel' | 'program';
  /** Parts of the time, from 0 to 1; they may overlap. */
  readonly parts: Readonly<Record<'disk' | 'copy' | 'faults' | 'kernel', number>>;
  readonly text: string;
}

/** What the program's counters say of a window, beside what moved. */
export interface ManagerTimes {
  /** CPU time of the manager's thread. */
  readonly managerMs: number;
  /** Copies from and to devices, also those that took no turn of their own. */
  readonly copyMs: number;
}

/** A part of the time that is worth a name. */
const LEAST_PART = 0.15;

/** @param times null: a recording has none, and fault handling is not known */
export function bottleneckOf(activity: Activity, times: ManagerTimes | null): Bottleneck {
  const { fromMs, toMs, diskMs, processors } = activity;
  const windowMs = Math.max(toMs - fromMs, 1e-3);
  const part = (ms: number): number => Math.min(1, Math.max(0, ms / windowMs));
  const copyMs = Math.max(activity.copyMs, times?.copyMs ?? 0);
  const faultMs = times === null ? 0 : times.managerMs - Math.min(copyMs, windowMs);
  const busiest = processors.toSorted((a, b) => b.launchMs - a.launchMs).at(0);
  const moving = [part(diskMs), part(copyMs), part(faultMs)];
  // A kernel that waits for its pages is not what takes the time.
  const kernel = part(busiest?.launchMs ?? 0) - moving.reduce((sum, each) => sum + each);
  const parts = {
    disk: moving[0],
    copy: moving[1],
    faults: moving[2],
    kernel: Math.max(0, kernel),
  };
  const [what, most] = Object.entries(parts).reduce((best, each) =>
    each[1] > best[1] ? each : best,
  ) as [keyof typeof parts, number];
  if (most < LEAST_PART)
    return { what: 'program', parts, text: 'the program itself: little moves, and no kernel runs' };
  const faults = processors.reduce((sum, each) => sum + each.faults, 0);
  const perSecond = Math.round((faults * 1000) / windowMs).toLocaleString('en-US');
  const texts = {
    disk: 'pages come from or go to storage, files or providers',
    copy: 'copies between memories',
    faults: `fault handling: ${perSecond} faults a second`,
    kernel: `the kernel ${busiest?.kernel ?? ''}`.trimEnd(),
  };
  const share = `${Math.round(most * 100)} % of the time`;
  const text = what === 'disk' ? `disk, ${share}: ${texts.disk}` : `${texts[what]}, ${share}`;
  return { what, parts, text };
}
