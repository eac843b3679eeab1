/**
 * The server's steps of the protocol, each by one run of a script on a Valkey or Redis server, which
 * nothing interrupts. `test/coherence/directory.ts` is their model. What the server keeps of an
 * array has keys with one hash tag, so that a cluster has it in one place:
 *
 *     {onemem:NAME}            the sessions whose leases no step has seen end, with when they end by the server's clock (a sorted set)
 *     {onemem:NAME}:last       the last number that a session, an epoch or a version was given
 *     {onemem:NAME}:N          block N: epoch e, owner o, version v, readers r and waiting sessions q, as lists with commas (a hash); of one that waits: session, right,
 *                              version of the content that is there, and connection; checksum s of the content, none before it is written; the last flush f
 *                              of each session, as a list: session, epoch and number
 *     {onemem:NAME}:N:content  its content
 *     {onemem:NAME}:written    a bit for each block that was ever written, so that one of which the server has dropped everything is not taken for zeros
 *     {onemem:NAME}:shape      what the array is, and when it was made (description.ts); "written" when a block is, so that the bits are not missed, either
 *     {onemem:NAME}:notices    the channel on which all machines hear notices
 *     {onemem:NAME}:notices:N  the channel of connection N, for what it is granted: a content goes nowhere else. Where two connections have one number,
 *                              because of a proxy, both hear what one is granted, and go by the session
 *
 * Numbers follow the server's clock, in microseconds, so that those that a server has forgotten do
 * not come again, be it started again without what it had last, or replaced by a copy that lags: no
 * claim and no copy from before holds then.
 *
 * A lease that is over by the clock is noticed by the machines that need what its session has, and
 * only by these.
 *
 * What was written is given to machines only as it was written: they compare it with the checksum
 * that came with it, and what is missing has one that no content has.
 */
import {
  type Notice,
  type Reply,
  type Request,
  type Right,
  type Rights,
  SPOILED,
  type Spoiled,
} from '../coherence/messages.js';
import { contentSum } from '../linux/memory/checksum.js';
import type { Argument } from '../valkey/connection.js';
import type { Reply as Answer } from '../valkey/replies.js';

/** Numbers for rights and replies: the content is an answer's only string. */
const NUMBER_OF: Record<Rights, number> = { none: 0, read: 1, write: 2 };
const RIGHT_OF: Readonly<Record<number, Right>> = { 1: 'read', 2: 'write' };
const REFUSED = 0;
const WAIT = 1;
const GRANTED = 2;
const FLUSHED = 3;
const WELCOME = 4;
const FORGOTTEN = 5;
const CLAIMED = 6;
/** In place of a checksum: the block was never written, and is zero. */
const ZEROS = -1;
const MISSING = -2;
/** Ends what is said of a content that follows. */
const LF = 10;
/** So many flushes of a block are remembered, and those of sessions whose lease has not ended. */
export const FLUSHES = 64;
/** So many numbers say a claim. */
const CLAIM = 4;

export const SCRIPT = `
local leases, last = KEYS[1], KEYS[2]
local kind, own = ARGV[1], ARGV[2]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function number()
  local number = math.max(tonumber(redis.call('GET', last) or 0) + 1, time[1] * 1000000 + time[2])
  redis.call('SET', last, number)
  return number
end

local function tell(text, connection)
  redis.call('SPUBLISH', leases .. ':notices' .. (connection and ':' .. connection or ''), text)
end

local function present(session)
  return redis.call('ZSCORE', leases, session)
end

local function alive(session)
  if session == own then return true end
  local till = present(session)
  if not till then return false end
  if tonumber(till) >= now then return true end
  redis.call('ZREM', leases, session)
  return false
end

local function split(text)
  local items = {}
  for item in string.gmatch(text or '', '[^,]+') do items[#items + 1] = item end
  return items
end

local function load(key)
  local f = redis.call('HMGET', key, 'e', 'o', 'v', 'r', 'q', 's', 'f')
  local queue = {}
  for session, right, have, connection in string.gmatch(f[5] or '', '(%d+):(%d):(%d+):(%d+)') do
    queue[#queue + 1] = { session = session, right = right, have = tonumber(have), connection = connection }
  end
  return {
    epoch = tonumber(f[1] or 0), owner = f[2] or '0', version = tonumber(f[3] or 1), readers = split(f[4]), queue = queue,
    sum = tonumber(f[6] or ''), flushes = f[7] or ''
  }
end

local function save(key, b)
  local queue = {}
  for at, each in ipairs(b.queue) do
    queue[at] = each.session .. ':' .. each.right .. ':' .. string.format('%.0f', each.have) .. ':' .. each.connection
  end
  local readers, waiting = table.concat(b.readers, ','), table.concat(queue, ',')
  redis.call('HSET', key, 'e', b.epoch, 'o', b.owner, 'v', b.version, 'r', readers, 'q', waiting, 's', b.sum or '', 'f', b.flushes)
end

local function keepReaders(b, keep)
  local kept = {}
  for _, each in ipairs(b.readers) do if keep(each) then kept[#kept + 1] = each end end
  b.readers = kept
end

local function keepWaiting(b, keep)
  local kept = {}
  for _, each in ipairs(b.queue) do if keep(each.session) then kept[#kept + 1] = each end end
  b.queue = kept
end

local function sweep(b, block)
  if b.owner ~= '0' and not alive(b.owner) then
    b.owner = '0'
    b.epoch = number()
    tell('lost ' .. block)
  end
  keepReaders(b, alive)
  keepWaiting(b, alive)
end

local function isNext(b, at)
  local session, right = b.queue[at].session, b.queue[at].right
  if b.owner ~= '0' and b.owner ~= session then return false end
  if right == '2' then
    if at > 1 then return false end
    for _, each in ipairs(b.readers) do if each ~= session then return false end end
    return true
  end
  for before = 1, at - 1 do if b.queue[before].right ~= '1' then return false end end
  return true
end

local function recall(b, block)
  local first = b.queue[1]
  local wish = ' ' .. block .. ' ' .. first.right
  if b.owner ~= '0' and b.owner ~= first.session then tell('recall ' .. b.owner .. wish) end
  if first.right == '1' then return end
  for _, each in ipairs(b.readers) do if each ~= first.session then tell('recall ' .. each .. wish) end end
end

local function grant(b, at)
  local to = table.remove(b.queue, at)
  keepReaders(b, function(session) return session ~= to.session end)
  if to.right == '2' then
    b.epoch = number()
    b.owner = to.session
  else b.readers[#b.readers + 1] = to.session end
  return to
end

local function sumOf(b, block)
  if b.sum then return b.sum end
  if b.version ~= 1 or redis.call('GETBIT', KEYS[5], block) == 1 then return ${MISSING} end
  local known = redis.call('EXISTS', KEYS[5]) == 1 or redis.call('HEXISTS', KEYS[6], 'written') == 0
  return known and ${ZEROS} or ${MISSING}
end

local function remember(b, flush)
  local others, kept = {}, {}
  for _, each in ipairs(split(b.flushes)) do
    if string.match(each, '%d+') ~= own then others[#others + 1] = each end
  end
  for at, each in ipairs(others) do
    if at >= #others + 2 - ${FLUSHES} or alive(string.match(each, '%d+')) then kept[#kept + 1] = each end
  end
  kept[#kept + 1] = own .. ':' .. flush
  b.flushes = table.concat(kept, ',') .. ','
end

local function contentFor(b, sum, have)
  if sum == ${MISSING} then return '' end
  if have == b.version then return false end
  if sum == ${ZEROS} then return '' end
  local content = redis.pcall('GET', KEYS[4])
  return type(content) == 'string' and content or ''
end

local function grantNext(b, block)
  while #b.queue > 0 and isNext(b, 1) do
    local to = grant(b, 1)
    local sum = sumOf(b, block)
    local content = contentFor(b, sum, to.have)
    local numbers = string.format(' %.0f %.0f %.0f ', b.epoch, b.version, sum)
    local text = 'granted ' .. to.session .. ' ' .. block .. ' ' .. to.right .. numbers .. (content and '1' or '0') .. '\\n'
    tell(content and text .. content or text, to.connection)
  end
  if #b.queue > 0 then recall(b, block) end
end

if kind == 'hello' then
  if (redis.call('HGET', KEYS[3], 'made') or '') ~= ARGV[2] then return { ${FORGOTTEN} } end
  local session = number()
  redis.call('ZADD', leases, now + ARGV[3], session)
  return { ${WELCOME}, session }
end

if kind == 'claim' then
  if not present(own) then return { ${REFUSED} } end
  redis.call('ZREM', leases, ARGV[3])
  local kept, lost, older = {}, {}, {}
  for at = 3, #KEYS do
    local first = 4 + ${CLAIM} * (at - 3)
    local block, epoch, version = tonumber(ARGV[first]), tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
    local b = load(KEYS[at])
    local isEarlier = b.owner ~= '0' and tonumber(b.owner) < tonumber(own)
    if version > b.version then
      if b.epoch == epoch and isEarlier then redis.call('HSET', KEYS[at], 'o', '0') end
      older[#older + 1] = block
    elseif b.epoch ~= epoch then
      local flush = ':' .. ARGV[first + 1] .. ':' .. ARGV[first + 3] .. ','
      if not string.find(b.flushes, flush, 1, true) then lost[#lost + 1] = block end
    elseif isEarlier then
      redis.call('HSET', KEYS[at], 'o', own)
      kept[#kept + 1] = block
    end
  end
  return { ${CLAIMED}, kept, lost, older }
end

if kind == 'renew' then
  if not present(own) then return 0 end
  redis.call('ZADD', leases, now + ARGV[3], own)
  return 1
end

if kind == 'leave' then return redis.call('ZREM', leases, own) end

local block = ARGV[3]
if not present(own) then return { ${REFUSED} } end
local b = load(KEYS[3])

if kind == 'acquire' then
  local right, have, connection = ARGV[4], tonumber(ARGV[5]), ARGV[6]
  sweep(b, block)
  local at = 0
  for n, each in ipairs(b.queue) do if each.session == own then at = n end end
  if at == 0 then at = #b.queue + 1 end
  b.queue[at] = { session = own, right = right, have = have, connection = connection }
  local answer = { ${WAIT} }
  if isNext(b, at) then
    grant(b, at)
    local sum = sumOf(b, block)
    answer = { ${GRANTED}, tonumber(right), b.epoch, b.version, contentFor(b, sum, have), sum }
  end
  grantNext(b, block)
  save(KEYS[3], b)
  return answer
end

if kind == 'flush' then
  if b.owner ~= own or b.epoch ~= tonumber(ARGV[4]) then return { ${REFUSED} } end
  if #ARGV > 5 then
    redis.call('SET', KEYS[4], ARGV[6])
    b.version = number()
    b.sum = tonumber(ARGV[7])
    remember(b, ARGV[4] .. ':' .. ARGV[8])
    if redis.call('SETBIT', KEYS[5], block, 1) == 0 and redis.call('HEXISTS', KEYS[6], 'made') == 1 then
      redis.call('HSET', KEYS[6], 'written', 1)
    end
  end
  if ARGV[5] ~= '2' then b.owner = '0' end
  if ARGV[5] == '1' then b.readers[#b.readers + 1] = own end
  sweep(b, block)
  grantNext(b, block)
  save(KEYS[3], b)
  return { ${FLUSHED}, b.version }
end

if kind == 'release' then
  local function notOwn(session) return session ~= own end
  if b.owner == own then b.owner = '0' end
  keepReaders(b, notOwn)
  keepWaiting(b, notOwn)
end
sweep(b, block)
grantNext(b, block)
save(KEYS[3], b)
return { -1 }
`;

export function keysOf(name: string) {
  const leases = `{onemem:${name}}`;
  return {
    leases,
    last: `${leases}:last`,
    shape: `${leases}:shape`,
    written: `${leases}:written`,
    channel: `${leases}:notices`,
    /** What a connection is granted is said here. */
    granted: (connection: number): string => `${leases}:notices:${connection}`,
    block: (block: number): string => `${leases}:${block}`,
    content: (block: number): string => `${leases}:${block}:content`,
  };
}

export type Keys = ReturnType<typeof keysOf>;

/** What follows the script's name: how many keys, the keys, and the rest. */
function command(keys: readonly string[], ...rest: Argument[]): Argument[] {
  return [keys.length, ...keys, ...rest];
}

/**
 * A request as arguments of EVALSHA behind the script's name. A content is sent from where it lies.
 *
 * @param connection the number that the server has for the connection
 */
export function commandOf(
  keys: Keys,
  request: Request<Uint8Array>,
  leaseMs: number,
  connection: number,
): Argument[] {
  const { leases, last, shape, written } = keys;
  if (request.kind === 'hello')
    return command([leases, last, shape], 'hello', request.made, leaseMs);
  if (request.kind === 'claim') {
    const { session, previous, claims } = request;
    const blocks = claims.map(({ block }) => keys.block(block));
    const said = claims.flatMap(({ block, epoch, version, flush }) => [
      block,
      epoch,
      version,
      flush,
    ]);
    return command([leases, last, ...blocks], 'claim', session, previous, ...said);
  }
  const { kind, session, block } = request;
  const all = [leases, last, keys.block(block), keys.content(block), written, shape];
  if (kind === 'acquire')
    return command(all, kind, session, block, NUMBER_OF[request.right], request.have, connection);
  if (kind === 'release' || kind === 'remind') return command(all, kind, session, block);
  const { epoch, flush, keep, content } = request;
  return command(
    all,
    kind,
    session,
    block,
    epoch,
    NUMBER_OF[keep],
    ...(content === null ? [] : [content, contentSum(content), flush]),
  );
}

/** Prolongs a lease: the answer is 1, or 0 when it is over. */
export function renewal({ leases, last }: Keys, session: number, leaseMs: number): Argument[] {
  return command([leases, last], 'renew', session, leaseMs);
}

/** Ends a lease whose session has nothing any more. */
export function departure({ leases, last }: Keys, session: number): Argument[] {
  return command([leases, last], 'leave', session);
}

/** The reply of an answer; undefined where none is awaited. No bytes stand for zeros. */
export function replyOf(
  request: Request<Uint8Array>,
  answer: Answer,
): Reply<Uint8Array> | undefined {
  const [kind, ...rest] = answer as [number, ...Answer[]];
  if (kind === REFUSED) return request.kind === 'release' ? undefined : { kind: 'refused' };
  if (request.kind === 'hello')
    return kind === FORGOTTEN
      ? { kind: 'forgotten' }
      : { kind: 'welcome', session: rest[0] as number };
  if (request.kind === 'claim') {
    const [kept, lost, older] = rest as number[][];
    return { kind: 'claimed', kept, lost, older };
  }
  const { block } = request;
  switch (kind) {
    case WAIT:
      return { kind: 'wait', block };
    case GRANTED: {
      const [right, epoch, version, content, sum] = rest as [
        number,
        number,
        number,
        Uint8Array | null,
        number,
      ];
      return {
        kind: 'granted',
        block,
        right: RIGHT_OF[right],
        epoch,
        version,
        content: asWritten(content, sum),
      };
    }
    case FLUSHED:
      return { kind: 'flushed', block, version: rest[0] as number };
    default:
      return undefined;
  }
}

/** A content that came, if it is what was written. */
function asWritten(content: Uint8Array | null, sum: number): Uint8Array | null | Spoiled {
  if (content === null || sum === ZEROS) return content;
  return content.length > 0 && contentSum(content) === sum ? content : SPOILED;
}

/** What a message of a channel says. A content follows a line. */
export function noticeOf(message: Uint8Array): Notice<Uint8Array> {
  const end = message.indexOf(LF);
  const line = end === -1 ? message : message.subarray(0, end);
  const [kind, ...rest] = Buffer.from(line.buffer, line.byteOffset, line.length)
    .toString()
    .split(' ');
  const numbers = rest.map(Number);
  if (kind === 'lost') return { kind, to: 'all', block: numbers[0] };
  const [to, block, right, epoch, version, sum, comes] = numbers;
  if (kind === 'recall') return { kind, to, block, right: RIGHT_OF[right] };
  const content = asWritten(comes === 1 ? message.subarray(end + 1) : null, sum);
  return { kind: 'granted', to, block, right: RIGHT_OF[right], epoch, version, content };
}
