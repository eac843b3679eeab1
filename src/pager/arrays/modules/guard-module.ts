/**
 * The module of a guard in the manager's thread. A function that throws, or takes too long, has
 * refused: it is ended by the engine, so that no thread waits for it.
 */
import { types } from 'node:util';
import { createContext, Script } from 'node:vm';
import { kernelError } from '../../../messages/kernel-error.js';
import { missingModule } from '../../../messages/missing-module.js';
import type {
  GuardAnswer,
  GuardFunction,
  GuardQuestion,
  GuardSource,
} from '../../protocol/guards.js';

/** How long a guard may take for an answer. */
const LIMIT_MS = 1000;
/** How long a module may take until its function is there. */
const LOADING_MS = 10_000;

/** Only a script can be given a limit of time. */
const SCRIPT = new Script('ask()');

export type Answer = { readonly answer: GuardAnswer } | { readonly problem: string };

export class GuardModule {
  private question: GuardQuestion | null = null;
  private given: unknown;
  private readonly context: object;
  /** It has taken too long, and is asked no more. */
  private late = false;

  private constructor(ask: GuardFunction) {
    this.context = createContext({
      ask: () => {
        if (this.question !== null) this.given = ask(this.question);
      },
    });
  }

  /** Rejects with an Error whose message continues a sentence that names the module's export. */
  static async load(
    { url, exportName }: GuardSource,
    load: (url: string) => Promise<Record<string, unknown>>,
  ): Promise<GuardModule> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), LOADING_MS);
    });
    let module: Record<string, unknown> | null;
    try {
      module = await Promise.race([load(url), late]);
    } catch (error) {
      const missing = missingModule(url, error);
      throw new Error(
        missing === null ? `threw ${textOf(error)}` : `cannot be loaded: ${missing}`,
        { cause: error },
      );
    } finally {
      clearTimeout(timer);
    }
    if (module === null) throw new Error(`was not loaded within ${LOADING_MS / 1000} s`);
    const ask = module[exportName];
    if (typeof ask === 'function') return new GuardModule(ask as GuardFunction);
    const names = Object.keys(module).join(', ') || 'nothing';
    throw new Error(`is no function; the module exports ${names}`);
  }

  ask(question: GuardQuestion): Answer {
    const problem = { problem: `did not answer within ${LIMIT_MS} ms, and is asked no more` };
    if (this.late) return problem;
    this.question = question;
    this.given = undefined;
    try {
      SCRIPT.runInContext(this.context, { timeout: LIMIT_MS });
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT')
        return { problem: `threw ${textOf(error)}` };
      this.late = true;
      return problem;
    }
    const { given } = this;
    if (given === 'allow' || given === 'refuse' || given === 'note') return { answer: given };
    // A promise is not waited for, and must not end the manager when it rejects.
    if (types.isPromise(given)) Promise.prototype.then.call(given, undefined, () => undefined);
    const what = types.isPromise(given) ? 'a promise' : kernelError(given).message;
    return { problem: `returned ${what}; it answers 'allow', 'refuse' or 'note'` };
  }
}

function textOf(error: unknown): string {
  const { name, message } = kernelError(error);
  return types.isNativeError(error) ? `${name}: ${message}` : message;
}
