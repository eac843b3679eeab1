/** Names that nobody else has. The module that makes them takes a thread 10 ms to load, which most threads never need. */

/** In hexadecimal digits. */
export function randomName(bytes = 12): string {
  return process.getBuiltinModule('node:crypto').randomBytes(bytes).toString('hex');
}
