/**
 * What programs must agree on that share an array: kept beside its content, and written by the
 * first of them.
 *
 *     {onemem:NAME}:shape  type, length and bytes of a block, and when it was made, by the server's clock, to a microsecond (a hash)
 *
 * A server that was emptied makes the array anew for the next program that opens it, and at another
 * time: by that those that have it open know that what they had flushed is gone. Members and
 * barriers name the array that they mean by when it was made.
 */
import { valkeyAddress } from '../valkey/address.js';
import type { ConnectionOptions } from '../valkey/connection.js';
import { throughFailover } from '../valkey/failover.js';
import { openFor } from '../valkey/open-for.js';
import { keysOf } from './steps.js';

export interface ArrayShape {
  readonly type: string;
  readonly length: number;
  readonly blockBytes: number;
}

/** An array as it is on a server. */
export interface KnownArray extends ArrayShape {
  /** Different for each array that ever had this name. */
  readonly made: string;
}

const SCRIPT = `
local now = redis.call('TIME')
if redis.call('EXISTS', KEYS[1]) == 0 then
  if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then return 0 end
  redis.call('HSET', KEYS[1], 'type', ARGV[1], 'length', ARGV[2], 'blockBytes', ARGV[3])
end
redis.call('HSETNX', KEYS[1], 'made', now[1] .. '.' .. now[2])
return redis.call('HMGET', KEYS[1], 'type', 'length', 'blockBytes', 'made')
`;

/**
 * The array as it is on the server, which is as asked for where there was none of this name. Null:
 * the server has lost what the array was, and still has something that was in it. Of a cluster a
 * server that has died is waited for until a replica has taken over, up to `timeoutMs`.
 */
export async function agreedArray(
  urls: readonly string[],
  name: string,
  { type, length, blockBytes }: ArrayShape,
  options: ConnectionOptions & { readonly timeoutMs: number },
): Promise<KnownArray | null> {
  const { shape, last, written } = keysOf(name);
  const servers = urls.map(valkeyAddress);
  return throughFailover(options.timeoutMs, async (namedMs) => {
    const { connection } = await openFor(shape, servers, { ...options, namedMs });
    try {
      const answer = await connection.call([
        'EVAL',
        SCRIPT,
        3,
        shape,
        last,
        written,
        type,
        length,
        blockBytes,
      ]);
      return answer === 0 ? null : arrayOf(answer as Uint8Array[]);
    } finally {
      connection.close();
    }
  });
}

function arrayOf(answer: readonly Uint8Array[]): KnownArray {
  const [type, length, blockBytes, made] = answer.map((each) => Buffer.from(each).toString());
  return { type, length: Number(length), blockBytes: Number(blockBytes), made };
}

export function isSameShape(one: ArrayShape, other: ArrayShape): boolean {
  return (
    one.type === other.type && one.length === other.length && one.blockBytes === other.blockBytes
  );
}
