/** Packages that a program installs for what it uses: optional peers. */
import { textOf } from './arguments.js';
import { OnememError } from './errors.js';

/**
 * @param what is done by it, for the message
 * @param also what it is of no use without
 */
export function packageMissing(what: string, name: string, cause: unknown, also = ''): OnememError {
  const message = `${what} the package '${name}', which cannot be loaded (${textOf(cause)}); install it: npm install ${name}${also}`;
  return new OnememError('PACKAGE_MISSING', message, {}, { cause });
}
