/** What `onemem doctor --explain CODE` says. */
import { UsageError } from '../terminal/failure.js';

const EFAULT = `EFAULT: a system call was given memory of an array that was not there

What happens
  A page of an array may be in storage, on a device, or never touched. Code that touches it waits until it is there. A
  system call does so only where the process may serve page faults of the kernel. Where it may not, which
  ONEMEM_USER_MODE warns of as a space opens, the call fails with EFAULT or transfers what comes before the page.

How to recognise it
  fs.write(), fs.writeSync(), fs.writeFile(), streams of files   error EFAULT, or a file that is too short
  res.end(), res.write() of node:http   the client has ECONNRESET; the response has no error event, the server
                                        emits clientError with EFAULT
  socket.write() of node:net            error EFAULT
  socket.send() of node:dgram           the callback has EFAULT
  child.stdin.end(), .write()           error EFAULT, or the child reads the beginning alone
  spawnSync(..., { input })             the child reads 0 bytes and ends with status 0; result.error is EFAULT
  The same program works as root, and where its pages happen to be in memory.

What to do
  files         array.writeTo(fd, { begin, end }), array.readFrom(fd)
  streams       pipeline(array.createReadStream({ begin, end }), res), or a socket, or child.stdin
  web           new Response(array.toReadableStream({ begin, end }))
  a small part  res.end(array.toBuffer({ begin, end })), a copy
  the memory    using held = await array.hold({ begin, end }), and held.bytes for any call, while it is held
  privileges    npx onemem doctor names what lets the process serve all faults: sysctl, a capability, or an option
                of the container; none helps a process that attached by a handle to read

Those who know all this have Node.js leave the warning out: node --disable-warning=ONEMEM_USER_MODE program.js`;

const TEXTS: Readonly<Record<string, string>> = { EFAULT, ONEMEM_USER_MODE: EFAULT };

export const EXPLAINED = Object.keys(TEXTS).join(', ');

/** @throws UsageError where there is nothing to say of a code */
export function explainCode(code: string): string {
  if (Object.hasOwn(TEXTS, code)) return TEXTS[code];
  throw new UsageError(`onemem doctor --explain knows ${EXPLAINED}, and not '${code}'`);
}
