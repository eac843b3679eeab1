/**
 * The options of a program that is started from the command line: what it takes is what its `usage`
 * says.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util';

type Parsed<T extends ParseArgsConfig> = ReturnType<typeof parseArgs<T>>;

/**
 * With `--help` the program prints its usage, and with an option that there is not, why, and ends.
 */
export function readOptions<T extends ParseArgsConfig>(usage: string, config: T): Parsed<T> {
  if (process.argv.slice(2).includes('--help')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    if (!String(code).startsWith('ERR_PARSE_ARGS')) throw error;
    console.error(`${message}\n\n${usage}`);
    process.exit(2);
  }
}
