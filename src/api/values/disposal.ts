/**
 * The keys of the methods that `using` calls. Before Node.js 24 a realm other than Node's own, such
 * as those in which test runners load modules, has no Symbol.dispose; there the keys are the ones
 * that compilers fall back to.
 */
export const DISPOSE: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose');
export const ASYNC_DISPOSE: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
