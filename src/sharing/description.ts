/**
 * What programs must agree on that share an array: kept beside its content, and written by the first of them.
 *
 *     {onemem:NAME}:shape  type, length and bytes of a block (a hash)
 */
import { valkeyAddress } from '../valkey/address.js';
import type { ConnectionOptions } from '../valkey/connection.js';
import { openFor } from '../valkey/open-for.js';
import { keysOf } from './steps.js';

export interface ArrayShape {
  readonly type: string;
  readonly length: number;
  readonly blockBytes: number;
}

const SCRIPT = `
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'type', ARGV[1], 'length', ARGV[2], 'blockBytes', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'type', 'length', 'blockBytes')
`;

/** The shape that the array has on the server, which is the one asked for where there was none of this name. */
export async function agreedShape(
  url: string,
  name: string,
  { type, length, blockBytes }: ArrayShape,
  options: ConnectionOptions,
): Promise<ArrayShape> {
  const key = `${keysOf(name).leases}:shape`;
  const { connection } = await openFor(key, [valkeyAddress(url)], options);
  try {
    const answer = (await connection.call(['EVAL', SCRIPT, 1, key, type, length, blockBytes])) as unknown[];
    const [known, many, bytes] = answer.map((each) => Buffer.from(each as Uint8Array).toString());
    return { type: known, length: Number(many), blockBytes: Number(bytes) };
  } finally {
    connection.close();
  }
}
