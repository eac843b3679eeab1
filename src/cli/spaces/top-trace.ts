/** A recorded run as `onemem top` shows it: window by window of its own time. */
import { type Activity, ActivityWatcher } from '../../trace/activity/activity.js';
import { bottleneckOf } from '../../trace/activity/bottleneck.js';
import { readInto } from '../history/recorded-history.js';
import type { TopFrame, TopSource } from './top-space.js';

class Windows extends ActivityWatcher {
  readonly ended: Activity[] = [];
  private endMs: number;

  constructor(private readonly windowMs: number) {
    super();
    this.endMs = windowMs;
  }

  comesTo(atMs: number): void {
    for (; atMs >= this.endMs; this.endMs += this.windowMs) this.ended.push(this.take(this.endMs));
  }
}

export class TopTrace implements TopSource {
  private at = 0;

  private constructor(
    private readonly path: string,
    private readonly windows: readonly Activity[],
  ) {}

  static async of(path: string, windowMs: number): Promise<TopTrace> {
    const windows = new Windows(windowMs);
    await readInto(windows.reader, path);
    return new TopTrace(path, [...windows.ended, windows.take(windows.reader.now)]);
  }

  async frames(): Promise<readonly TopFrame[] | null> {
    const activity = this.windows[this.at++];
    if (activity === undefined) return null;
    // How long faults were handled a recording does not say.
    const bottleneck = bottleneckOf(activity, null);
    const of = { pid: null, command: this.path, name: null, space: 1, spaces: 1 };
    return [{ ...of, bottleneck, ...activity }];
  }

  close(): void {}
}
