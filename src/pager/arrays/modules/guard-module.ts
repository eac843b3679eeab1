/**
 * The module of a guard in the manager's thread. A function that throws, or takes too long, has
 * refused: it is ended by the engine, so that no thread waits for it.
 */
import { types } from 'node:util';
import { createContext, Script } from 'node:vm';
import { kernelError } from '../../../messages/kernel-error.js';
import type {
  GuardAnswer,
  GuardFunction,
  GuardQuestion,
  GuardSource,
} from '../../protocol/guards.js';
import { fromModule, type Load, textOf } from './program-module.js';

/** How long a guard may take for an answer. */
const LIMIT_MS = 1000;

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

  static load(source: GuardSource, load: Load): Promise<GuardModule> {
    return fromModule(source, load, (ask: GuardFunction) => new GuardModule(ask));
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
