/**
 * Addresses of hosts by their names. Node.js looks names up in its thread pool, all threads of which
 * may wait for pages that a server has: then the last answer counts, which another thread of the
 * program may have had.
 */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';

/** What was found for each name. It passes to other threads. */
export type HostAddresses = ReadonlyMap<string, readonly LookupAddress[]>;

/** How long a lookup may take while an earlier answer is known. */
const PATIENCE_MS = 200;

type Look = (host: string, done: (error: Error | null, found: LookupAddress[]) => void) => void;

const known = new Map<string, readonly LookupAddress[]>();

export function hostAddresses(): HostAddresses {
  return new Map(known);
}

/** What another thread has found; what this one has found itself is newer. */
export function learnHosts(addresses: HostAddresses): void {
  for (const [host, found] of addresses) if (!known.has(host)) known.set(host, found);
}

const lookInPool: Look = (host, done) =>
  process.getBuiltinModule('node:dns').lookup(host, { all: true }, done);

/** @param look how a name is looked up; `dns.lookup` unless a test says otherwise */
export function lookupBy(look: Look = lookInPool): LookupFunction {
  return (host, options, callback) => {
    let answered = false;
    const answer = (error: Error | null, found: readonly LookupAddress[] = []): void => {
      if (answered) return;
      answered = true;
      clearTimeout(timer);
      if (error !== null) callback(error, '', 0);
      else if (options.all === true) callback(null, [...found]);
      else callback(null, found[0].address, found[0].family);
    };
    const before = known.get(host);
    const timer =
      before === undefined ? undefined : setTimeout(() => answer(null, before), PATIENCE_MS);
    look(host, (error, found) => {
      if (error === null && found.length > 0) known.set(host, found);
      answer(error, found);
    });
  };
}
