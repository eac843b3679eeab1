/** Mistakes that one could make in the protocol. Each must be found in one of the small settings. */
export interface Mutant {
  readonly name: string;
  readonly file: 'cache.js' | 'directory.js';
  readonly find: string;
  readonly replace: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'a claim holds whatever its epoch',
    file: 'directory.js',
    find: 'if (state.epoch !== epoch)',
    replace: 'if (false)',
  },
  {
    name: 'the end of a lease does not make the epoch old',
    file: 'directory.js',
    find: 'state.epoch = ++this.state.numbers;\n            this.tell(',
    replace: 'this.tell(',
  },
  {
    name: 'a flush is taken from whoever sends it',
    file: 'directory.js',
    find: 'if (!this.isAlive(session) || state.owner !== session || state.epoch !== epoch)',
    replace: 'if (false)',
  },
  {
    name: 'a block that was given up is flushed after that',
    file: 'cache.js',
    find: "this.commands.send({ kind: 'flush', session: this.state.session, block, epoch, content, keep });",
    replace:
      "this.commands.send({ kind: 'flush', session: this.state.session, block, epoch, content: null, keep });" +
      "if (content !== null) this.commands.send({ kind: 'flush', session: this.state.session, block, epoch, content, keep });",
  },
  {
    name: 'a writer does not wait until copies are gone',
    file: 'directory.js',
    find: 'return at === 0 && state.readers.every((each) => each === session);',
    replace: 'return at === 0;',
  },
  {
    name: 'a copy is said to be gone before it is',
    file: 'cache.js',
    find: "this.restrict(block, 'none');\n        else if (recalled === 'read'",
    replace:
      "{ if (!owned) this.commands.send({ kind: 'release', session: this.state.session, block }); this.restrict(block, 'none'); }" +
      "\n        else if (recalled === 'read'",
  },
  {
    name: 'content is sent while threads still write it',
    file: 'cache.js',
    find: "return kept === 'none' ? 'none' : 'read';",
    replace: "return kept === 'none' ? 'none' : 'write';",
  },
  {
    name: 'copies are kept when the lease is over',
    file: 'cache.js',
    find: "if (state.right !== 'none')\n                this.restrict(block, 'none');",
    replace: "if (state.right === 'write')\n                this.restrict(block, 'none');",
  },
  {
    name: 'a session begins while threads use what the last one gave',
    file: 'cache.js',
    find: 'if (this.isInUse())',
    replace: 'if (false)',
  },
  {
    name: 'answers of an earlier session count',
    file: 'cache.js',
    find: 'if (session !== this.state.session)\n            return;\n        switch',
    replace: 'switch',
  },
  {
    name: 'nobody is told that a block can be had',
    file: 'directory.js',
    find: "this.tell({ kind: 'ready', to: session, block });",
    replace: '',
  },
  {
    name: 'nobody is asked to give up a block',
    file: 'directory.js',
    find: 'if (owner !== 0 && owner !== session)\n            this.tell(',
    replace: 'if (false) this.tell(',
  },
  {
    name: 'content counts as there after it was lost',
    file: 'cache.js',
    find: 'state.epoch = 0;\n            state.version = 0;',
    replace: 'state.epoch = 0;',
  },
  {
    name: 'what somebody else has been granted meanwhile is lost in silence',
    file: 'cache.js',
    find: 'this.commands.lost(block);',
    replace: '',
  },
];
