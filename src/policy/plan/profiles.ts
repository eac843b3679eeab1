/** What is remembered of launches, by kernel and arguments. */
import type { BlockSpan } from '../../core/basics/types.js';
import { Profile } from './profile.js';

/** Kinds of launches that are remembered. */
const MOST_PROFILES = 256;

export class Profiles {
  private readonly byArguments = new Map<string, Profile>();
  /** The last one that ended of each kernel, by the sizes of its arguments. */
  private readonly bySizes = new Map<string, Profile>();

  of(kernel: string, spans: readonly BlockSpan[]): Profile {
    let key = kernel;
    let sizes = kernel;
    for (const { first, end } of spans) {
      key += ` ${first} ${end}`;
      sizes += ` ${end - first}`;
    }
    let profile = this.byArguments.get(key);
    if (profile === undefined) {
      if (this.byArguments.size === MOST_PROFILES) {
        this.byArguments.clear();
        this.bySizes.clear();
      }
      this.byArguments.set(key, (profile = new Profile(sizes, spans)));
    }
    return profile;
  }

  /** The last one that ended of the same kernel with arguments of the same sizes. */
  like({ sizes }: Profile): Profile | undefined {
    return this.bySizes.get(sizes);
  }

  ended(profile: Profile): void {
    this.bySizes.set(profile.sizes, profile);
  }
}
