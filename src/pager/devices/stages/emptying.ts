/**
 * A launch begins: what its parts write from zeros is emptied, all of it before the first one. Of a
 * launch that runs as a whole the core does that when it brings the rest.
 */
import type { SpaceContext } from '../../arrays/table/context.js';
import type { Launch } from '../launch.js';
import type { NamedArgument } from '../launch-arguments.js';
import type { Stage } from './stage.js';

export class Emptying implements Stage {
  constructor(private readonly context: SpaceContext) {}

  run(launch: Launch, done: () => void): void {
    launch.state = 'begun';
    const isWhole = launch.work.kind === 'whole';
    this.next(isWhole ? [] : launch.args.filter(({ use }) => use === 'out'), 0, done);
  }

  private next(args: readonly NamedArgument[], at: number, done: () => void): void {
    if (at === args.length) {
      done();
      return;
    }
    const { requests, manager, restore } = this.context;
    const { first, count } = args[at];
    requests.start(
      (request) => manager.zero(request, first, count),
      (_pages, failure) => {
        if (failure === null) restore(first, count);
        this.next(args, at + 1, done);
      },
    );
  }
}
