/**
 * A place where programs wait for each other. A program that waits says so again and again, so that
 * one that has died is not counted for longer than a lease, and a question that is asked twice,
 * since its answer was lost, does no harm.
 *
 *     {onemem:NAME}:barrier:BARRIER          how often it has opened
 *     {onemem:NAME}:barrier:BARRIER:waiting  the programs that wait, with when their leases end by the server's clock (a sorted set)
 *     {onemem:NAME}:barrier:BARRIER:passed   the programs that passed it when it opened last (a set)
 *     {onemem:NAME}:barrier:BARRIER:count    how many must come
 */
import type { Argument } from '../valkey/connection.js';
import type { Reply as Answer } from '../valkey/replies.js';
import { keysOf } from './steps.js';

const SCRIPT = `
local opened, waiting, passed, count, shape = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local me, wanted, lease, seen, made = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
if redis.call('HGET', shape, 'made') ~= made then return { -2, 0 } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local times = tonumber(redis.call('GET', opened) or 0)
if seen >= 0 and times > seen then return { 1, times } end
if seen < 0 and redis.call('SISMEMBER', passed, me) == 1 then return { 1, times } end
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', '(' .. now)
if redis.call('ZCARD', waiting) == 0 then redis.call('SET', count, wanted) end
local known = redis.call('GET', count)
if known ~= wanted then return { -1, tonumber(known) } end
redis.call('ZADD', waiting, now + lease, me)
if redis.call('ZCARD', waiting) < tonumber(wanted) then return { 0, times } end
redis.call('DEL', passed)
redis.call('SADD', passed, unpack(redis.call('ZRANGE', waiting, 0, -1)))
redis.call('DEL', waiting)
redis.call('INCR', opened)
return { 1, times + 1 }
`;

/**
 * @param made names the array: programs that opened one that was made before or after it are others
 * @param seen how often it had opened when that was asked for the first time; -1 then
 */
export function barrierCommand(
  array: string,
  made: string,
  name: string,
  me: string,
  count: number,
  leaseMs: number,
  seen: number,
): Argument[] {
  const { leases, shape } = keysOf(array);
  const key = `${leases}:barrier:${name}`;
  const keys = [key, `${key}:waiting`, `${key}:passed`, `${key}:count`, shape];
  return ['EVAL', SCRIPT, keys.length, ...keys, me, count, leaseMs, seen, made];
}

/** Takes a program from those that wait: it does so no more. */
export function barrierWithdrawal(array: string, name: string, me: string): Argument[] {
  return ['ZREM', `${keysOf(array).leases}:barrier:${name}:waiting`, me];
}

const STATES = { 1: 'opened', 0: 'waiting', [-1]: 'other', [-2]: 'forgotten' } as const;

/**
 * `opened`: all programs are there. `other`: the others wait for another number of programs.
 * `forgotten`: the array is not there any more.
 */
export function barrierAnswer(answer: Answer): {
  state: (typeof STATES)[keyof typeof STATES];
  number: number;
} {
  const [state, number] = answer as [keyof typeof STATES, number];
  return { state: STATES[state], number };
}
