/** A command of `onemem`, as its module exports it. */
import { UsageError } from './failure.js';
import { type Options, parseOptions, type Values } from './options.js';

export interface Command {
  readonly summary: string;
  readonly help: string;
  /** Returns the exit code. */
  readonly main: (args: readonly string[]) => Promise<number> | number;
}

interface Definition<T extends Options> {
  readonly name: string;
  /** What stands behind the name; of a command with several forms all of its usage. */
  readonly usage: string;
  readonly summary: string;
  /** Of the help, behind usage and summary. */
  readonly text: string;
  readonly options: T;
  /** What it takes besides options, which is nothing unless one of these says so. */
  readonly one?: string;
  readonly atMostOne?: string;
  readonly several?: true;
  main(values: Values<T>, others: readonly string[]): Promise<number> | number;
}

/** A command of which the line is read, and refused where it does not fit, before `main`. */
export function defineCommand<const T extends Options>(definition: Definition<T>): Command {
  const { name, usage, summary, text, one, atMostOne = one } = definition;
  const sentence = `${summary[0].toUpperCase()}${summary.slice(1)}.`;
  const head = usage.includes('\n')
    ? `${usage}\n\n${sentence}`
    : `onemem ${name} ${usage}: ${summary}`;
  return {
    summary,
    help: `${head}\n\n${text}`,
    main(args) {
      const { values, positionals } = parseOptions(name, args, definition.options);
      const count = positionals.length;
      const fits =
        count === 0 ? one === undefined : definition.several || (count === 1 && atMostOne);
      if (fits) return definition.main(values, positionals);
      const what =
        atMostOne === undefined ? `no arguments (${positionals.join(' ')})` : `one ${atMostOne}`;
      throw new UsageError(`onemem ${name} takes ${what}; see: onemem ${name} --help`);
    },
  };
}
