/**
 * What programs must agree on that share an array: kept beside its content, and written by the first of them.
 *
 *     {onemem:NAME}:shape  type, length and bytes of a block, and when it was made, by the server's clock, to a microsecond (a hash)
 *
 * A server that was emptied makes the array anew for the next program that looks, and at another time: by that the others know that what
 * they had flushed is gone.
 */
import { valkeyAddress } from '../valkey/address.js';
import type { ConnectionOptions, ValkeyConnection } from '../valkey/connection.js';
import { openFor } from '../valkey/open-for.js';
import { keysOf } from './steps.js';

export interface ArrayShape {
  readonly type: string;
  readonly length: number;
  readonly blockBytes: number;
}

/** An array as it is on a server. */
export interface KnownArray extends ArrayShape {
  /** Empty: it was made when this was not noted yet. */
  readonly made: string;
}

const SCRIPT = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  local now = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'type', ARGV[1], 'length', ARGV[2], 'blockBytes', ARGV[3], 'made', now[1] .. '.' .. now[2])
end
return redis.call('HMGET', KEYS[1], 'type', 'length', 'blockBytes', 'made')
`;

/** The array as it is on the server, which is as asked for where there was none of this name. */
export async function knownArray(
  connection: ValkeyConnection,
  name: string,
  { type, length, blockBytes }: ArrayShape,
): Promise<KnownArray> {
  const command = ['EVAL', SCRIPT, 1, shapeKey(name), type, length, blockBytes];
  const answer = (await connection.call(command)) as (Uint8Array | null)[];
  const [known, many, bytes, made] = answer.map((each) => (each === null ? '' : Buffer.from(each).toString()));
  return { type: known, length: Number(many), blockBytes: Number(bytes), made };
}

export async function agreedArray(
  url: string,
  name: string,
  shape: ArrayShape,
  options: ConnectionOptions,
): Promise<KnownArray> {
  const { connection } = await openFor(shapeKey(name), [valkeyAddress(url)], options);
  try {
    return await knownArray(connection, name, shape);
  } finally {
    connection.close();
  }
}

export function isSameShape(one: ArrayShape, other: ArrayShape): boolean {
  return one.type === other.type && one.length === other.length && one.blockBytes === other.blockBytes;
}

function shapeKey(name: string): string {
  return `${keysOf(name).leases}:shape`;
}
