/**
 * Each system call of the manager fails once, at its 1st, 10th and 100th use under load, and at its
 * first use while the space opens. The process goes on with right data, an operation may fail with
 * a code; or it ends with a message. It never hangs.
 *
 *   npm run -s system-faults              each call at one of these uses, chosen by its place in the table
 *   npm run -s system-faults -- --all     at all of them; and from outside, by strace, where that is installed
 *   npm run -s system-faults -- sendmsg   one call, at all of them
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { FAILING_CALLS } from '../../src/linux/base/failing-calls.js';

interface Case {
  readonly call: string;
  readonly error: string;
  readonly when: string;
  readonly by: 'injection' | 'strace';
}

/** What each call may fail with, by the manual of the system. */
const CALLS: readonly (readonly [call: string, ...errors: string[]])[] = [
  ['UFFDIO_COPY', 'ENOMEM', 'EAGAIN'],
  ['UFFDIO_ZEROPAGE', 'ENOMEM'],
  ['UFFDIO_CONTINUE', 'ENOMEM', 'EINVAL'],
  ['UFFDIO_WRITEPROTECT', 'ENOMEM', 'EINVAL'],
  ['UFFDIO_WAKE', 'ENOMEM'],
  ['UFFDIO_REGISTER', 'ENOMEM'],
  ['UFFDIO_API', 'EINVAL'],
  ['userfaultfd', 'EMFILE'],
  ['mmap', 'ENOMEM'],
  ['munmap', 'ENOMEM'],
  ['madvise', 'ENOMEM', 'EAGAIN'],
  ['mlock', 'EAGAIN'],
  ['munlock', 'ENOMEM'],
  ['memfdCreate', 'EMFILE'],
  ['ftruncate', 'ENOSPC'],
  ['fallocate', 'ENOMEM', 'EINTR'],
  ['read', 'EINTR', 'ENOMEM'],
  ['write', 'EINTR', 'EIO'],
  ['pread', 'EINTR', 'EIO'],
  ['pwrite', 'EINTR', 'ENOSPC'],
  ['preadv2', 'EAGAIN', 'EIO'],
  ['fdatasync', 'EIO', 'EINTR'],
  ['close', 'EIO'],
  ['poll', 'EINTR', 'ENOMEM'],
  ['ppoll', 'EINTR'],
  ['socketpair', 'EMFILE'],
  ['sendmsg', 'ENOBUFS', 'EAGAIN'],
  ['recvmsg', 'ENOMEM', 'EINTR'],
  ['pidfdOpen', 'EMFILE'],
  ['pidfdSendSignal', 'EPERM'],
];
/** These are made when a space opens or a device starts, and not again under load. */
const ONLY_OPENING = new Set([
  'UFFDIO_REGISTER',
  'UFFDIO_API',
  'userfaultfd',
  'memfdCreate',
  'ftruncate',
  'socketpair',
  'pidfdOpen',
]);
/**
 * Tried besides what is chosen: the first packet to a device has to wait, with the descriptors that
 * it takes along.
 */
const ALSO: readonly Case[] = [
  { call: 'sendmsg', error: 'EAGAIN', when: 'opening', by: 'injection' },
];
/**
 * The same from outside: these are made often enough that one of them is hit in any run. Not
 * madvise, which V8 calls for its own heap, too, and ends the process when it fails.
 */
const OUTSIDE: readonly (readonly [call: string, error: string])[] = [
  ['ioctl', 'ENOMEM'],
  ['sendmsg', 'ENOBUFS'],
  ['recvmsg', 'ENOMEM'],
  ['poll', 'EINTR'],
  ['fallocate', 'EINTR'],
  ['read', 'EINTR'],
];
const WHENS = ['opening', '1', '10', '100'] as const;
const LIMIT_MS = 90_000;

interface Report {
  readonly fired: number;
  readonly wrong: readonly string[];
  readonly errors: readonly string[];
  readonly hung: string | null;
}

const program = fileURLToPath(new URL('./programs/work.js', import.meta.url));
const started: ChildProcess[] = [];
let passed = 0;
let failed = 0;
let unreached = 0;

/** What came of a case, and whether that is allowed. */
async function run({ call, error, when, by }: Case): Promise<[outcome: string, well: boolean]> {
  const calls = when === 'opening' ? `${call}:${error}:1` : `later,${call}:${error}:${when}`;
  const env = { ...process.env, ...(by === 'injection' ? { [FAILING_CALLS]: calls } : {}) };
  const args = [program, ...(by === 'strace' ? ['wait'] : [])];
  const child = spawn(process.execPath, args, {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  started.push(child);
  let stdout = '';
  let stderr = '';
  let tracer: ChildProcess | null = null;
  let injected = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    const manager = /^\{"manager":(\d+)\}$/m.exec(stdout)?.[1];
    if (by === 'injection' || manager === undefined || tracer !== null) return;
    const inject = `inject=${call}:error=${error}:when=${when}`;
    tracer = spawn('strace', ['-p', manager, '-e', `trace=${call}`, '-e', inject], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    tracer.stderr?.setEncoding('utf8').on('data', (trace: string) => {
      if (/INJECTED/.test(trace)) injected = trace;
      if (/attached/.test(trace)) child.stdin.end();
    });
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    process.kill(-(child.pid as number), 'SIGKILL');
  }, LIMIT_MS);
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  (tracer as ChildProcess | null)?.kill('SIGKILL');
  if (late) return [`hung: nothing after ${LIMIT_MS / 1000} s ${stderr}`, false];
  const [message] = stderr.split('\n').filter((line) => line.startsWith('onemem: '));
  if (signal === 'SIGKILL' && message !== undefined)
    return [`ended: ${message.slice(8, 150)}`, true];
  const last = stdout.trim().split('\n').at(-1) ?? '';
  if (code !== 0 || !last.startsWith('{"fired"'))
    return [`ended by ${signal ?? code} without a message: ${stderr}`, false];
  const report = JSON.parse(last) as Report;
  if (report.hung !== null) return [`hung: ${report.hung} ${stderr}`, false];
  if (report.wrong.length > 0) return [`wrong data: ${report.wrong.join('; ')}`, false];
  const reached = by === 'strace' ? injected !== '' : report.fired > 0;
  if (!reached) {
    unreached++;
    return ['not so many uses', true];
  }
  const bare = report.errors.filter(
    (each) => !/: [A-Z_]+$/.test(each) || each.endsWith(': INTERNAL'),
  );
  if (bare.length > 0) return [`errors without a code: ${bare.join('; ')}`, false];
  return [report.errors.length === 0 ? 'went on' : `went on; ${report.errors.join(', ')}`, true];
}

const options = process.argv.slice(2);
const all = options.includes('--all');
const atOnce = options.includes('--jobs') ? Number(options[options.indexOf('--jobs') + 1]) : 2;
const named = options.filter((each) => /^[a-zA-Z]/.test(each));
const cases: Case[] = [];
for (const [place, [call, ...errors]] of CALLS.entries()) {
  if (named.length > 0 && !named.includes(call)) continue;
  for (const [which, error] of errors.entries()) {
    for (const [index, when] of WHENS.entries()) {
      const chosen = ONLY_OPENING.has(call)
        ? when === 'opening'
        : index === (place + which) % WHENS.length;
      if (all || named.length > 0 || (chosen && which === 0 && place % 4 === 0))
        cases.push({ call, error, when, by: 'injection' });
    }
  }
}
if (!all && named.length === 0) cases.push(...ALSO);
if (spawnSync('strace', ['-V']).error !== undefined) {
  console.log(
    'SKIPPED: strace is not installed; the same from outside was not tried (Debian: apt install strace)',
  );
} else if (named.length === 0) {
  for (const [place, [call, error]] of OUTSIDE.entries()) {
    for (const when of WHENS.slice(1)) {
      if (all || (place < 2 && when === '10')) cases.push({ call, error, when, by: 'strace' });
    }
  }
}

process.on('exit', () => {
  for (const { pid, exitCode, signalCode } of started) {
    if (pid !== undefined && exitCode === null && signalCode === null)
      process.kill(-pid, 'SIGKILL');
  }
});
const begun = performance.now();
const rest = [...cases];
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const [outcome, well] = await run(next);
      if (well) passed++;
      else failed++;
      const how = next.by === 'strace' ? 'strace' : '';
      console.log(
        `${well ? 'ok  ' : 'FAIL'} ${next.call.padEnd(20)} ${next.error.padEnd(8)} ${next.when.padEnd(8)} ${how.padEnd(7)} ${outcome}`,
      );
    }
  }),
);
console.log(
  `${((performance.now() - begun) / 1000).toFixed(1)} s; ${unreached} cases have not so many uses of their call`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
