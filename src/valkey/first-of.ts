/** Servers of one cluster know the same: the first that answers is asked. */
import { PartDownError, ValkeyError } from './errors.js';

/**
 * Asks servers in their order until one has done what it is asked.
 *
 * @param servers at least one
 * @throws ValkeyError of the first that answered otherwise; where none answered, one that has what
 * is wrong with each
 */
export async function firstOf<Server, Result>(
  servers: readonly Server[],
  ask: (server: Server) => Promise<Result>,
): Promise<Result> {
  const failures: ValkeyError[] = [];
  for (const server of servers) {
    try {
      return await ask(server);
    } catch (error) {
      if (!(error instanceof ValkeyError)) throw error;
      failures.push(error);
    }
  }
  throw failures.find(isOfOneThatAnswered) ?? noneAnswers(failures);
}

function isOfOneThatAnswered(failure: ValkeyError): boolean {
  return failure instanceof PartDownError || failure.code === 'REFUSED' || failure.code === 'REPLY';
}

/** All may have failed by the same server, which each of them named. */
function noneAnswers(failures: readonly ValkeyError[]): ValkeyError {
  const messages = [...new Set(failures.map(({ message }) => message))];
  const last = failures.at(-1) as ValkeyError;
  if (messages.length === 1) return last;
  const text = `none of ${failures.length} servers can be used: ${messages.join('; ')}`;
  return new ValkeyError(last.code, text, { cause: new AggregateError(failures) });
}

/** The error of a server in whose place others would be asked, of which it knows nothing. */
export function standsAlone(shown: string): ValkeyError {
  const text = `${shown} is part of no cluster, and several addresses are for servers of one; name its address alone, or have it join the others`;
  return new ValkeyError('REFUSED', text);
}
