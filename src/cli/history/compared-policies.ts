/** Eviction policies that a command line names: of onemem's own, or of a module of the user's. */
import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { evictionName } from '../../policy/choices.js';
import { EVICTION_POLICIES, type EvictionName } from '../../policy/eviction/named.js';
import { checkEviction } from '../../policy/fallback.js';
import { CommandError, UsageError } from '../terminal/failure.js';

export type Makers = Readonly<Record<string, () => EvictionPolicy>>;

/** @param text names and paths as the command line has them, with commas between */
export async function comparedPolicies(text: string): Promise<Makers> {
  const all = Object.keys(EVICTION_POLICIES) as EvictionName[];
  const makers: Record<string, () => EvictionPolicy> = {};
  for (const each of text === 'all' ? all : text.split(',')) {
    const name = each === 'default' ? evictionName({}) : each;
    if (Object.hasOwn(EVICTION_POLICIES, name))
      makers[name] = EVICTION_POLICIES[name as EvictionName];
    else if (/\/|\.m?js(#|$)/.test(name)) makers[basename(name)] = await ofModule(name);
    else
      throw new UsageError(
        `--policy: there is no policy '${name}'; there are ${all.join(', ')}, default, all, and modules such as ./my-policy.mjs`,
      );
  }
  return makers;
}

/** @param path of a module, and `#export` where that is not the default one */
async function ofModule(path: string): Promise<() => EvictionPolicy> {
  const [file, name = 'default'] = path.split('#');
  const fail = (what: string, cause?: unknown): never => {
    throw new CommandError('POLICY', `--policy ${path}: ${what}`, { cause });
  };
  if (!existsSync(file)) fail('there is no such file');
  let make: unknown;
  try {
    make = ((await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>)[name];
  } catch (cause) {
    fail(`it cannot be loaded: ${(cause as Error).message}`, cause);
  }
  if (typeof make !== 'function')
    fail(`its export '${name}' is no function that makes an eviction policy`);
  return () => {
    try {
      return checkEviction((make as () => unknown)());
    } catch (cause) {
      return fail((cause as Error).message, cause);
    }
  };
}

/** What a policy of the user's does wrong while it is played. */
export function played<T>(path: string, play: () => T): T {
  try {
    return play();
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError('POLICY', `${path}: ${(cause as Error).message}`, { cause });
  }
}
