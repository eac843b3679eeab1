/** The spaces of a running program that `onemem top` looks at. */
import { looksAt, type SeenSpace } from '../../api/objects/listing.js';
import { Tail } from '../../live/tail.js';
import { type Activity, ActivityWatcher } from '../../trace/activity/activity.js';
import {
  type Bottleneck,
  bottleneckOf,
  type ManagerTimes,
} from '../../trace/activity/bottleneck.js';
import { CommandError, codeOf, UsageError } from '../terminal/failure.js';

const HOW =
  'programs allow it by ONEMEM_OBSERVABLE=1, openSpace({ observable: true }), serve() or share()';

export interface TopFrame extends Activity {
  /** Null: a recording, which is named instead of the command. */
  readonly pid: number | null;
  readonly command: string;
  /** Of a space that `onemem serve` keeps. */
  readonly name: string | null;
  /** Counts from 1, of so many spaces of the process. */
  readonly space: number;
  readonly spaces: number;
  readonly bottleneck: Bottleneck;
}

/** What `onemem top` shows, window by window. */
export interface TopSource {
  /** What has happened since the last ones, by space; null: nothing comes any more. */
  frames(): Promise<readonly TopFrame[] | null>;
  close(): void;
}

export class TopSpaces implements TopSource {
  private constructor(private spaces: readonly TopSpace[]) {}

  /** @param wanted a process or the name of a space; missing: the only one that there is */
  static async find(wanted: string | undefined): Promise<TopSpaces> {
    const { spaces: found, failures } = looksAt(wanted);
    const close = (): void => {
      for (const { look } of found) look[Symbol.dispose]();
    };
    if (found.length === 0 && failures.length > 0)
      throw new CommandError(failures[0].code, failures[0].message);
    if (found.length === 0)
      throw new CommandError(
        'NO_SPACE',
        wanted === undefined
          ? `there is no space of this user to look at; ${HOW}`
          : `there is no space of ${wanted} to look at, and no file ${wanted}; ${HOW}`,
      );
    const pids = [...new Set(found.map(({ look }) => look.owner))];
    if (pids.length > 1) {
      close();
      throw new UsageError(`there are several programs; name one: ${pids.join(', ')}`);
    }
    try {
      const spaces: TopSpace[] = [];
      for (const each of found)
        spaces.push(await TopSpace.of(each, spaces.length + 1, found.length));
      return new TopSpaces(spaces);
    } catch (error) {
      close();
      throw error;
    }
  }

  /** A space that is closed meanwhile is left out, unless it is the last one. */
  async frames(): Promise<readonly TopFrame[]> {
    const frames: TopFrame[] = [];
    for (const space of this.spaces)
      try {
        frames.push(await space.frame());
      } catch (error) {
        if (codeOf(error) !== 'OWNER_LOST' || this.spaces.length === 1) throw error;
        space.close();
        this.spaces = this.spaces.filter((each) => each !== space);
      }
    return frames;
  }

  close(): void {
    for (const space of this.spaces) space.close();
  }
}

class TopSpace {
  private before: ManagerTimes;

  private constructor(
    private readonly found: SeenSpace,
    private readonly tail: Tail<ActivityWatcher>,
    private readonly number: number,
    private readonly count: number,
  ) {
    this.before = this.times();
  }

  static async of(found: SeenSpace, number: number, count: number): Promise<TopSpace> {
    const { look } = found;
    const tail = await Tail.of(
      {
        // biome-ignore lint/suspicious/noExplicitAny: the compiler checks the calls of Tail.
        request: async (name: any, value: any): Promise<any> => look.ask(name, value),
        tell: (name, value) => look.ask(name, value),
      },
      () => new ActivityWatcher(),
    );
    const space = new TopSpace(found, tail, number, count);
    // Where pages are that had come before.
    await space.frame();
    return space;
  }

  /** What has happened since the last one. */
  async frame(): Promise<TopFrame> {
    await this.tail.update();
    const times = this.times();
    const since = {
      managerMs: times.managerMs - this.before.managerMs,
      copyMs: times.copyMs - this.before.copyMs,
    };
    this.before = times;
    const activity = this.tail.teller.take(this.tail.nowMs);
    const bottleneck = bottleneckOf(activity, since);
    const { look, name, command } = this.found;
    const of = { space: this.number, spaces: this.count };
    return { pid: look.owner, command, name, ...of, bottleneck, ...activity };
  }

  /** The program keeps no moves any more. */
  close(): void {
    this.found.look[Symbol.dispose]();
  }

  private times(): ManagerTimes {
    const { managerMs, processors } = this.found.look.ask('stats', null);
    const devices = processors.filter(({ kind }) => kind !== 'host');
    return { managerMs, copyMs: Math.max(0, ...devices.map(({ copyMs }) => copyMs)) };
  }
}
