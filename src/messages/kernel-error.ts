/**
 * What a kernel threw, in words. A kernel may throw anything, also what has no text or fails when
 * it is asked for it.
 */

export interface KernelError {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}

/** Errors of another realm, such as those of vm contexts, are no instances of this one's class. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]';
}

/** More of what an object holds would fill the line. */
const MOST_CHARACTERS = 300;

/**
 * What was thrown, if it is no error. What an object holds says more than '[object Object]'. Throws
 * what the object does when it is asked.
 */
function textOf(thrown: unknown): string {
  const text = String(thrown);
  if (typeof thrown !== 'object' || !/^\[object .*\]$/.test(text)) return text;
  const held = contentOf(thrown);
  if (held === '' || held === '{}') return text;
  return held.length <= MOST_CHARACTERS ? held : `${held.slice(0, MOST_CHARACTERS)}…`;
}

/** Empty for what JSON has no words for, as an object that holds itself. */
function contentOf(thrown: object | null): string {
  try {
    return JSON.stringify(thrown) ?? '';
  } catch {
    return '';
  }
}

/** Name, message and stack of whatever a kernel threw. */
export function kernelError(thrown: unknown): KernelError {
  try {
    if (isError(thrown)) {
      const { name, message, stack } = thrown as {
        name: unknown;
        message: unknown;
        stack?: unknown;
      };
      return {
        name: String(name),
        message: textOf(message),
        stack: typeof stack === 'string' ? stack : '',
      };
    }
    return { name: typeof thrown, message: textOf(thrown), stack: '' };
  } catch {
    return { name: typeof thrown, message: 'something that has no text', stack: '' };
  }
}

/** Throws a TypeError for a promise, for a device that cannot wait for one. */
export function refuseAsynchronous(result: unknown): void {
  if (!(result instanceof Promise)) return;
  result.catch(() => undefined);
  throw new TypeError(
    'this device runs no asynchronous kernels; make it a plain function, or use a process device',
  );
}
