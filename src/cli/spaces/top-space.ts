/** The space of a running program that `onemem top` looks at. */
import { looksAt, type SeenSpace } from '../../api/objects/listing.js';
import { Tail } from '../../live/tail.js';
import { type Activity, ActivityWatcher } from '../../trace/activity.js';
import { type Bottleneck, bottleneckOf, type ManagerTimes } from '../../trace/bottleneck.js';
import { CommandError, UsageError } from '../terminal/failure.js';

const HOW =
  'programs allow it by ONEMEM_OBSERVABLE=1, openSpace({ observable: true }), serve() or share()';

export interface TopFrame extends Activity {
  readonly pid: number;
  readonly command: string;
  /** Of a space that `onemem serve` keeps. */
  readonly name: string | null;
  readonly bottleneck: Bottleneck;
}

export class TopSpace {
  private before: ManagerTimes;

  private constructor(
    private readonly found: SeenSpace,
    private readonly tail: Tail<ActivityWatcher>,
  ) {
    this.before = this.times();
  }

  /** @param wanted a process or the name of a space; missing: the only one that there is */
  static async find(wanted: string | undefined): Promise<TopSpace> {
    const { spaces: found, failures } = looksAt(wanted);
    const [first, ...more] = found;
    if (first === undefined && failures.length > 0)
      throw new CommandError(failures[0].code, failures[0].message);
    if (first === undefined)
      throw new CommandError(
        'NO_SPACE',
        `there is no space of ${wanted === undefined ? 'this user' : wanted} to look at; ${HOW}`,
      );
    for (const { look } of more) look[Symbol.dispose]();
    const pids = [...new Set(found.map(({ look }) => look.owner))];
    if (pids.length > 1) {
      first.look[Symbol.dispose]();
      throw new UsageError(`there are several programs; name one: ${pids.join(', ')}`);
    }
    const { look } = first;
    const tail = await Tail.of(
      {
        // biome-ignore lint/suspicious/noExplicitAny: the compiler checks the calls of Tail.
        request: async (name: any, value: any): Promise<any> => look.ask(name, value),
        tell: (name, value) => look.ask(name, value),
      },
      () => new ActivityWatcher(),
    );
    const space = new TopSpace(first, tail);
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
    return { pid: look.owner, command, name, bottleneck, ...activity };
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
