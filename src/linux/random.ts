/** Names that are unique. The module of Node.js that makes them takes a thread 10 ms to load, and most threads need none. */

/** In hexadecimal digits. */
export function randomName(bytes = 12): string {
  return process.getBuiltinModule('node:crypto').randomBytes(bytes).toString('hex');
}
