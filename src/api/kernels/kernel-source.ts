/** The text of an inline kernel: the names it takes from outside, and the tool that made them. */
import { createRequire } from 'node:module';
import { runInNewContext, runInThisContext } from 'node:vm';
import type { Node } from 'acorn';
import { typeError } from '../values/errors.js';

/** What Node.js adds to the language, in every thread and so in every device. */
const NODE_GLOBALS =
  'AbortController AbortSignal Blob BroadcastChannel Buffer clearImmediate clearInterval clearTimeout CompressionStream console Crypto CryptoKey ' +
  'crypto CustomEvent DecompressionStream DOMException Event EventTarget fetch File FormData gc global Headers MessageChannel MessageEvent ' +
  'MessagePort navigator Navigator performance Performance process queueMicrotask ReadableStream Request Response setImmediate setInterval ' +
  'setTimeout structuredClone SubtleCrypto TextDecoder TextEncoder TransformStream URL URLSearchParams WebAssembly WebSocket WritableStream ' +
  'atob btoa';

/** Globals for whose names programs often have something else, unseen in a kernel's text. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  setTimeout: 'that of node:timers/promises is another',
  setInterval: 'that of node:timers/promises is another',
  setImmediate: 'that of node:timers/promises is another',
  clearTimeout: 'timers of the program are not there',
  clearInterval: 'timers of the program are not there',
  clearImmediate: 'timers of the program are not there',
  queueMicrotask: 'a kernel that does not await it ends before it',
  fetch: 'packages that one imports by this name are others',
  process: "it is the device's process, not the program's",
  crypto: 'that of node:crypto is another',
};

/** Reads JavaScript. Loaded with the first inline kernel: it is a tenth of the import. */
function parser(): { acorn: typeof import('acorn'); scope: typeof import('eslint-scope') } {
  const require = createRequire(import.meta.url);
  return { acorn: require('acorn'), scope: require('eslint-scope') };
}

let known: Set<string> | null = null;

/** Names that every device has. This context may have more, of test runners or the program. */
function builtIn(): Set<string> {
  if (known === null) {
    const names = 'Object.getOwnPropertyNames(globalThis)';
    const here = new Set(runInThisContext(names) as string[]);
    known = new Set([
      ...(runInNewContext(names) as string[]),
      ...NODE_GLOBALS.split(' ').filter((name) => here.has(name)),
      ...['undefined', 'arguments', '__name'],
    ]);
  }
  return known;
}

export interface KernelSource {
  /** An expression that is the function. */
  readonly text: string;
  readonly globals: readonly string[];
}

/** The function as an expression; it needs nothing from where it was written. */
export function kernelSource(body: (...args: never[]) => unknown, name: string): KernelSource {
  const text = Function.prototype.toString.call(body);
  if (text.includes('[native code]')) {
    throw typeError(
      'KERNEL_SOURCE',
      `kernel ${name} has no source (it is native or bound); write the function itself`,
    );
  }
  if (/^class\b/.test(text)) {
    throw typeError(
      'KERNEL_SOURCE',
      `kernel ${name} is a class, which no device can call; write a function, such as ({ x }, { begin, end }) => { ... }`,
    );
  }
  if (Object.prototype.toString.call(body).includes('Generator')) {
    throw typeError(
      'KERNEL_SOURCE',
      `kernel ${name} is a generator, which no launch can run; leave out the *`,
    );
  }
  let failure: unknown;
  for (const source of [text, methodAsFunction(text)]) {
    try {
      return { text: withoutCounters(source), globals: globalsOf(source, name) };
    } catch (error) {
      if ((error as { code?: string }).code === 'KERNEL_CLOSURE') throw error;
      failure ??= error;
    }
  }
  throw typeError(
    'KERNEL_SOURCE',
    `kernel ${name} cannot be parsed: ${failure instanceof Error ? failure.message : failure}`,
  );
}

/** What of a kernel's globals may mean something else in the program, each with why. */
export function ambiguities(globals: readonly string[]): string[] {
  return globals
    .filter((name) => Object.hasOwn(AMBIGUOUS, name))
    .map((name) => `${name} (${AMBIGUOUS[name]})`);
}

/** A method's text is no expression; with `function` before it, it is. */
function methodAsFunction(text: string): string {
  return text.startsWith('async ') ? `async function ${text.slice(6)}` : `function ${text}`;
}

function parse(source: string): Node {
  return parser().acorn.parseExpressionAt(`(${source})`, 0, {
    ecmaVersion: 'latest',
    sourceType: 'script',
    ranges: true,
  });
}

type AnyNode = Node & { readonly [key: string]: unknown };

/** Every node below one, and itself. */
function* nodesOf(node: AnyNode): Generator<AnyNode> {
  yield node;
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === 'object' && each !== null && typeof (each as AnyNode).type === 'string')
        yield* nodesOf(each);
    }
  }
}

/** The counters that istanbul puts into what it measures: `cov_1x2y().s[3]++`. */
const COUNTER = /^cov_\w+$/;

function rootName(node: AnyNode): string | undefined {
  if (node.type === 'Identifier') return node.name as string;
  const next =
    node.type === 'CallExpression'
      ? node.callee
      : node.type === 'MemberExpression'
        ? node.object
        : undefined;
  return next === undefined ? undefined : rootName(next as AnyNode);
}

/** Leaves counters of coverage out of a kernel's text, whose places stay as they are. */
function withoutCounters(source: string): string {
  if (!source.includes('cov_')) return source;
  let text = source;
  for (const node of nodesOf(parse(source) as AnyNode)) {
    if (node.type !== 'UpdateExpression' || !COUNTER.test(rootName(node.argument as AnyNode) ?? ''))
      continue;
    // The parenthesis before the source counts, too.
    const [start, end] = [node.start - 1, node.end - 1];
    text = `${text.slice(0, start)}0${' '.repeat(end - start - 1)}${text.slice(end)}`;
  }
  return text;
}

function globalsOf(source: string, name: string): string[] {
  const expression = parse(withoutCounters(source));
  const program = {
    type: 'Program',
    sourceType: 'script',
    body: [{ type: 'ExpressionStatement', expression, range: expression.range }],
    range: expression.range,
  };
  const scopes = parser().scope.analyze(program as never, {
    ecmaVersion: 2022,
    sourceType: 'script',
  });
  const used = new Set<string>();
  for (const reference of scopes.globalScope?.through ?? []) used.add(reference.identifier.name);
  const outside = [...used].filter((each) => !builtIn().has(each));
  if (outside.length === 0) return [...used];
  const hints = outside
    .map((each) => toolBehind(each, expression as AnyNode))
    .filter((hint) => hint !== null);
  const remedy =
    'hand values in as scalar parameters, or put the kernel and what it needs into a module';
  throw typeError(
    'KERNEL_CLOSURE',
    `kernel ${name} uses ${outside.join(', ')} from outside; a kernel runs in another process and sees only its parameters and JavaScript's ` +
      `own globals: ${[remedy, ...new Set(hints)].join('; ')}`,
  );
}

/** Names that no author wrote, by the tools that write them. */
function toolBehind(name: string, expression: AnyNode): string | null {
  if (COUNTER.test(name)) {
    return `${name} is istanbul's counter of coverage: write /* istanbul ignore next */ before the kernel, or measure by v8 (coverageProvider: 'v8')`;
  }
  if (name.startsWith('__vi_') || name.startsWith('__vite_'))
    return `${name} is what vitest makes of an import`;
  if (/webpack/i.test(name)) return `${name} is what webpack makes of an import`;
  if (/^_[a-z]\w*$/i.test(name) || /^\w+_\d+$/.test(name))
    return `${name} looks like an import, compiled to CommonJS`;
  if (isNameHelper(name, expression)) {
    return (
      `${name} looks like esbuild's helper for names of functions (keepNames) after minifying: leave out one of the two, or put the kernel ` +
      'into a module that is not bundled'
    );
  }
  return null;
}

/** Whether a name is only called with a function and its name. */
function isNameHelper(name: string, expression: AnyNode): boolean {
  let calls = 0;
  for (const node of nodesOf(expression)) {
    if (node.type !== 'CallExpression' || (node.callee as AnyNode).name !== name) continue;
    const [made, text, ...more] = node.arguments as AnyNode[];
    if (more.length > 0 || text?.type !== 'Literal' || typeof text.value !== 'string') return false;
    if (!/Function|Class|Identifier/.test(made.type)) return false;
    calls++;
  }
  return calls > 0;
}
