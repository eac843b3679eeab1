/**
 * Mistakes that one could make in the protocol. Each must be found in one of the small settings.
 */
import type { Mutant } from '../harness/mutants.js';

const CACHE = 'src/coherence/cache.ts';
const DIRECTORY = 'src/coherence/directory.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'a claim holds whatever its epoch',
    file: DIRECTORY,
    original: 'state.epoch !== epoch',
    after: 'of claims)',
    instead: 'false',
  },
  {
    name: 'a claim that comes late takes a block from its machine',
    file: DIRECTORY,
    original: 'state.owner < session',
    instead: 'true',
  },
  {
    name: 'what has come counts as lost when the answer was not heard',
    file: DIRECTORY,
    original: '!state.flushes.some((each) => each.epoch === epoch && each.flush === flush)',
    instead: 'true',
  },
  {
    name: 'an earlier flush counts as the last one',
    file: DIRECTORY,
    original: 'each.flush === flush',
    instead: 'true',
  },
  {
    name: 'what is flushed again counts as something else',
    file: CACHE,
    original: 'state.unheard === 0',
    instead: 'true',
  },
  {
    name: 'the end of a lease does not make the epoch old',
    file: DIRECTORY,
    original: 'state.epoch = ++this.state.numbers;',
    after: 'private sweep(',
    instead: '',
  },
  {
    name: 'a flush is taken from whoever sends it',
    file: DIRECTORY,
    original: '!this.isAlive(session) || state.owner !== session || state.epoch !== epoch',
    instead: 'false',
  },
  {
    name: 'a block that was given up is flushed after that',
    file: CACHE,
    original: `this.commands.send({
      kind: 'flush', session: this.state.session, block, epoch, flush, content, keep, });`,
    instead: `
      this.commands.send({ kind: 'flush', session: this.state.session, block, epoch, flush, content: null, keep });
      if (content !== null)
        this.commands.send({ kind: 'flush', session: this.state.session, block, epoch, flush, content, keep });`,
  },
  {
    name: 'what is waited for no more is not given back',
    file: CACHE,
    original: "this.commands.send({ kind: 'release', session: this.state.session, block });",
    after: 'withdraw(block',
    instead: '',
  },
  {
    name: 'what is granted while the wait is taken back is used',
    file: CACHE,
    original: 'state.waiting = false;',
    after: 'withdraw(block',
    instead: '',
  },
  {
    name: 'a writer does not wait until copies are gone',
    file: DIRECTORY,
    original: 'at === 0 && state.readers.every((each) => each === session)',
    instead: 'at === 0',
  },
  {
    name: 'a copy is said to be gone before it is',
    file: CACHE,
    original: "this.restrict(block, 'none');",
    after: "if (recalled === 'write' && (owned || state.right !== 'none'))",
    instead: `
      if (!owned) this.commands.send({ kind: 'release', session: this.state.session, block });
      this.restrict(block, 'none');`,
  },
  {
    name: 'content is sent while threads still write it',
    file: CACHE,
    original: "kept === 'none' ? 'none' : 'read'",
    instead: "kept === 'none' ? 'none' : 'write'",
  },
  {
    name: 'copies are kept when the lease is over',
    file: CACHE,
    original: "if (state.right !== 'none') this.restrict(block, 'none'); else this.greet();",
    instead: "if (state.right === 'write') this.restrict(block, 'none'); else this.greet();",
  },
  {
    name: 'a session begins while threads use what the last one gave',
    file: CACHE,
    original: 'this.isInUse()',
    instead: 'false',
  },
  {
    name: 'what others want of a launch when the session ends waits for it',
    file: CACHE,
    original: 'this.commands.ended();',
    instead: '',
  },
  {
    name: 'answers of an earlier session count',
    file: CACHE,
    original: 'if (session !== this.state.session) return;',
    instead: '',
  },
  {
    name: 'nobody is told that a block is granted',
    file: DIRECTORY,
    original: 'this.tell({ ...this.grant(block, session), to: session });',
    instead: 'this.grant(block, session);',
  },
  {
    name: 'a copy of the latest content is granted as if it were an old one',
    file: DIRECTORY,
    original: 'have === version',
    instead: 'have !== version',
  },
  {
    name: 'a release leaves what was granted before it',
    file: DIRECTORY,
    original: 'if (state.owner === session) state.owner = 0;',
    instead: '',
  },
  {
    name: 'what is granted counts also when nothing is waited for',
    file: CACHE,
    original: "state.waiting && state.doing === 'nothing'",
    instead: 'true',
  },
  {
    name: 'a copy is kept that no thread may read',
    file: CACHE,
    original: "state.right === 'none' ? 'none' : 'read'",
    instead: "'read'",
  },
  {
    name: 'who waits asks for more at once',
    file: CACHE,
    original: 'if (exceeds(right, state.wanted)) state.wanted = right;',
    instead: 'if (exceeds(right, state.wanted)) { state.wanted = right; state.waiting = false; }',
  },
  {
    name: 'a reminder finds nobody whose lease is over',
    file: DIRECTORY,
    original: 'this.sweep(block);',
    after: 'private remind(',
    instead: '',
  },
  {
    name: 'nobody is asked to give up a block',
    file: DIRECTORY,
    original: "this.tell({ kind: 'recall', to: owner, block, right });",
    instead: '',
  },
  {
    name: 'content counts as there after it was lost',
    file: CACHE,
    original: 'state.version = 0;',
    instead: '',
  },
  {
    name: 'what comes without a content is not given back',
    file: CACHE,
    original: 'this.notInstalled(block);',
    instead: '',
  },
  {
    name: 'what is here is used where the content is spoiled',
    file: CACHE,
    original: 'this.commands.spoiled(block); this.notInstalled(block); return;',
    instead: 'this.install(block, null, right); return;',
  },
  {
    name: 'a machine has a session of an array that is another one by now',
    file: DIRECTORY,
    original: 'made !== this.state.made',
    instead: 'false',
  },
  {
    name: 'a server keeps for its owner a content that it has not',
    file: DIRECTORY,
    original: 'version > state.version',
    instead: 'false',
  },
  {
    name: 'a server that has come back looks at grants that it knows only',
    file: DIRECTORY,
    original: 'version > state.version',
    instead: 'state.epoch === epoch && version > state.version',
  },
  {
    name: 'the owner is not told that the server has an older content',
    file: CACHE,
    original: '(others.has(block) && state.changed) || gone.has(block)',
    instead: 'others.has(block) && state.changed',
  },
  {
    name: 'what has not been flushed counts as what the server once had',
    file: CACHE,
    original: 'changed ? 0 : version',
    instead: 'version',
  },
  {
    name: 'what has been flushed counts as lost when others have come since',
    file: CACHE,
    original: 'others.has(block) && state.changed',
    instead: 'others.has(block)',
  },
  {
    name: 'a content is not known to be other than what the server has',
    file: CACHE,
    original: 'if (changed) state.changed = true;',
    instead: '',
  },
  {
    name: 'a content that has been flushed counts as other than what the server has',
    file: CACHE,
    original: 'state.changed = false;',
    after: 'private sent(',
    instead: '',
  },
  {
    name: 'nobody is told that the server has forgotten the array',
    file: CACHE,
    original: 'this.commands.forgotten();',
    instead: '',
  },
  {
    name: 'what somebody else has been granted meanwhile is lost in silence',
    file: CACHE,
    original: 'this.commands.lost(block);',
    instead: '',
  },
];
