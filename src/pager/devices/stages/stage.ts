/** What happens to a launch between its turn and its kernel, one thing after the other. */
import type { Launch } from '../launch.js';

/**
 * Does one thing for a launch, and notes in it what comes of it: what later stages use, or why it
 * fails. A stage asks nothing about the stages around it: between two of them the course looks
 * whether the launch goes on.
 */
export interface Stage {
  /** @param done to be called when that is done: at once, or later */
  run(launch: Launch, done: () => void): void;
}

/** Takes launches through their stages. */
export class Course {
  /** @param stages in order; the last calls the driver @param finish the launch goes no further */
  constructor(
    private readonly stages: readonly Stage[],
    private readonly finish: (launch: Launch) => void,
  ) {}

  /** @param stage where it begins, or goes on with its next part */
  go(launch: Launch, stage: Stage = this.stages[0]): void {
    this.enter(launch, this.stages.indexOf(stage));
  }

  private enter(launch: Launch, at: number): void {
    // It has been ended meanwhile.
    if (!launch.isFirst) return;
    if (launch.state !== 'completed') launch.noteLoss();
    if (launch.failure !== null || launch.ending !== null || launch.state === 'completed')
      this.finish(launch);
    else this.stages[at].run(launch, () => this.enter(launch, at + 1));
  }
}
