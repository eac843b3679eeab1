/** Mistakes that the simulation must find. Each is one replacement in the compiled code, where `find` stands exactly once. */
export interface Mutant {
  readonly name: string;
  /** Under the folder of the compiled code. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** What it would do to a program. */
  readonly why: string;
}

export const mutants: readonly Mutant[] = [
  {
    name: 'skip a write-protect',
    file: 'src/core/operation.js',
    find: "if (processor.state !== 'dead') {",
    replace: "if (processor.state !== 'dead' && to === Access.None) {",
    why: 'A writer goes on writing a page of which others get copies: they read old values.',
  },
  {
    name: 'answer a fault before its copy ends',
    file: 'src/core/operation.js',
    find: `if (status === Status.Pending)
        return status;`,
    replace: `if (status === Status.Pending && order.access !== 0) {
        state.commands.map(order.processor, order.page, count, order.access, 0, order.frame);
    }
    if (status === Status.Pending)
        return status;`,
    why: 'The thread goes on and reads what was in the memory before.',
  },
  {
    name: 'drop a dirty bit',
    file: 'src/core/operation.js',
    find: 'addRun(block.dirty, first, count);',
    replace: ';',
    why: 'An eviction takes the page for one that can be made again, and what was written is gone.',
  },
  {
    name: 'leave a repeated fault without a wake',
    file: 'src/core/memory-manager.js',
    find: 'state.commands.wake(id, page, 1, has(mapping.writable, inBlock) ? Access.Write : Access.Read);',
    replace: ';',
    why: 'A thread that fell asleep after its page was mapped (EEXIST) sleeps for ever.',
  },
  {
    name: 'punch before the copy is safe',
    file: 'src/core/operation.js',
    find: 'operation.evictingPages = backedIn(block, operation);',
    replace: `operation.evictingPages = backedIn(block, operation);
    releaseBacking(state, block, nodeOf(state, node), moving);`,
    why: 'The only copy of a page is given back while it should be copied.',
  },
  {
    name: 'punch although the copy failed',
    file: 'src/core/operation-rules.js',
    find: 'residence.backed[word] & ~stuck[word] & ~residence.scratch[word]',
    replace: 'residence.backed[word] & ~residence.scratch[word]',
    why: 'The only copy of a page is given back although it could not be copied.',
  },
  {
    name: 'keep a page that is not what was stored',
    file: 'src/core/memory-manager.js',
    find: 'residence.resident[word] &= ~mask[word];',
    replace: ';',
    why: 'What a disk has made of a page is read as its content.',
  },
  {
    name: 'give memory between two stores back while the second one reads it',
    file: 'src/drivers/router.js',
    find: 'transfer.half = true;',
    replace: `transfer.half = true;
            this.staging?.give(transfer.staged);`,
    why: 'A server gets pages of another array, and gives them back as what it was sent.',
  },
  {
    name: 'leave the last transfer between two stores waiting',
    file: 'src/drivers/router.js',
    find: 'for (let tries = this.unstaged.length; tries > 0; tries--)',
    replace: 'for (let tries = this.unstaged.length; tries > 1; tries--)',
    why: 'Who needs room that the last of many evictions would give waits for ever.',
  },
  {
    name: 'keep an old copy after a write',
    file: 'src/core/operation.js',
    find: 'removeRun(stale.resident, first, count);',
    replace: ';',
    why: 'Somebody reads the value from before the write.',
  },
  {
    name: 'only wake who faults on a page that the kernel has unmapped',
    file: 'src/core/memory-manager.js',
    find: '1, has(mapping.writable, inBlock) ? Access.Write : Access.Read);',
    replace: '1, Access.None);',
    why: 'The thread comes back for ever.',
  },
  {
    name: 'count the entry of a block that came ahead as mapped',
    file: 'src/core/operation.js',
    find: 'if (accessAt(operation, first) === Access.None ||',
    replace: 'if (!operation.map ||',
    why: 'Whoever comes into the block faults on a page that he is believed to have.',
  },
  {
    name: 'take a whole block where a part is asked for',
    file: 'src/core/operation.js',
    find: 'operation.whole = size(operation.reserved) === PAGES_PER_BLOCK;',
    replace: 'operation.whole = size(operation.reserved) > 0;',
    why: 'The node has memory that its books do not know: its budget is exceeded.',
  },
  {
    name: 'take a whole block again for what was refused as too large',
    file: 'src/core/operation.js',
    find: 'operation.whole = false;\n    order.urgent',
    replace: 'order.urgent',
    why: 'Pages that have been filled meanwhile are given new memory, and what was in them is gone.',
  },
  {
    name: 'keep memory that was not filled',
    file: 'src/core/operation.js',
    find: 'releaseBacking(state, block, target, unfilled);',
    replace: ';',
    why: 'Every failed copy leaks a part of the budget.',
  },
  {
    name: 'empty pages that can still be written',
    file: 'src/core/operation-rules.js',
    find: "zero: { reason: 'discard', moves: false, changesContent: true, left: none,",
    replace: "zero: { reason: 'discard', moves: false, changesContent: true, left: none, meanwhile: all,",
    why: 'A page that was emptied still shows what was in it, to one processor.',
  },
  {
    name: 'ignore holds',
    file: 'src/core/state.js',
    find: 'if (isHeldAgainst(residence, access, pages))',
    replace: 'if (false)',
    why: 'A page leaves while a file or a device without faults uses it.',
  },
  {
    name: 'let what is held be what stands in for a denied page',
    file: 'src/core/tasks.js',
    find: 'if ((scratch[word] & mask[word]) !== 0)',
    replace: 'if (false)',
    why: 'A copy reads zeros where an array has content.',
  },
  {
    name: 'push a block out from under a hold, for a page of it that was denied',
    file: 'src/core/faults.js',
    find: 'if (isHeld(block, node.id))',
    replace: 'if (false)',
    why: 'A copy reads memory that has been given back.',
  },
  {
    name: 'keep the holds of the dead',
    file: 'src/core/state.js',
    find: "if (state.nodes[other]?.state === 'dead')",
    replace: 'if (false)',
    why: 'Whoever waits for the end of a hold waits for ever.',
  },
  {
    name: 'let pages be written while they are written back',
    file: 'src/core/operation-rules.js',
    find: "clean: { reason: 'protect', moves: false, changesContent: false, left: read,",
    replace: "clean: { reason: 'protect', moves: false, changesContent: false, left: all,",
    why: 'What was written meanwhile counts as written back, and is dropped.',
  },
  {
    name: 'forget that a page was written while it was written back',
    file: 'src/core/operation.js',
    find: 'removeRun(block.cleaning, first, count);',
    replace: ';',
    why: 'What was written meanwhile counts as written back, and is dropped.',
  },
  {
    name: 'forget what died with its device',
    file: 'src/core/service.js',
    find: "lose(block, only, 'LOST');",
    replace: 'for (let word = 0; word < WORDS; word++) block.dirty[word] &= ~only[word];',
    why: 'A lost page reads as zero, and nobody is told.',
  },
  {
    name: 'tell subscribers of what may not be read any more, not of what may not be written',
    file: 'src/core/operation.js',
    find: 'const rights = left === Access.None ? mapping.mapped : mapping.writable;',
    replace: 'if (left !== Access.None) continue; const rights = mapping.mapped;',
    why: 'Who copies pages between two looks at a sequence number takes a copy for good that was written meanwhile.',
  },
  {
    name: 'tell subscribers nothing of evictions',
    file: 'src/core/operation-rules.js',
    find: `left: ({ node }, _processor, reached) => (reached === node ? Access.None : Access.Write),
        // What is copied out`,
    replace: `left: all,
        // What is copied out`,
    why: 'A shadow page table still has pages that have left their node.',
  },
  {
    name: 'let a node go from which a copy is under way',
    file: 'src/core/departures.js',
    find: 'if (busy.length > 0) {',
    replace: 'if (busy.length < 0) {',
    why: 'Its memory is read after it was given back, and a thread that needs the page waits for a death that nobody tells.',
  },
  {
    name: 'let a processor go that is giving up its rights to host memory',
    file: 'src/core/departures.js',
    find: 'if (answers || ',
    replace: 'if (',
    why: 'It says no more that it has given them up, and who needs the memory waits for ever.',
  },
  {
    name: 'send pages to a store that has no room for them',
    file: 'src/core/reclaim.js',
    find: 'return Math.min(budgetPages, limitPages, goalPages);',
    replace: 'return Math.min(budgetPages, goalPages);',
    why: 'Blocks go round between the host and a disk that is full, and nobody is told.',
  },
  {
    name: 'refuse at once who needs room of a store that is full',
    file: 'src/core/faults.js',
    find: 'if (processor.waited < PATIENCE) {',
    replace: 'if (processor.waited < 0) {',
    why: 'A disk that is full for a moment ends the program.',
  },
  {
    name: 'never refuse who needs room of a store that is full',
    file: 'src/core/faults.js',
    find: 'if (processor.waited < PATIENCE) {',
    replace: 'if (processor.waited >= 0) {',
    why: 'A thread hangs in a fault for as long as the disk is full.',
  },
  {
    name: 'fill what stands in for a denied page that has been cloned',
    file: 'src/core/tasks.js',
    find: 'excludeScratch(block, node.id, guarded);',
    replace: ';',
    why: 'The kernel that was denied the page finds its content where zeros stood.',
  },
  {
    name: 'let a device die without a word to subscribers',
    file: 'src/core/departures.js',
    find: "commands.invalidate(page, end - first, 'migrate', id);",
    replace: ';',
    why: 'A shadow page table still has the pages of a device that is no more.',
  },
  {
    name: 'leave writers of a page that is protected now',
    file: 'src/core/operation-rules.js',
    find: 'left: ({ access }) => access,',
    replace: 'left: ({ access }) => access, meanwhile: all,',
    why: 'Somebody goes on writing what may only be read (invariant 8).',
  },
  {
    name: 'write a page that a clone still needs',
    file: 'src/core/operation-rules.js',
    find: "addAll(rareMask(block, 'guarded'), mask);",
    replace: ';',
    why: 'A clone reads what was written to its source afterwards (invariant 9).',
  },
  {
    name: 'fill a page of a clone again after its source has changed',
    file: 'src/core/tasks.js',
    find: `if (isInherited(block, page) && holderOf(state, block, page, NO_NODE) !== NO_NODE)
            add(block.dirty, page);`,
    replace: `if (isInherited(block, page) && holderOf(state, block, page, NO_NODE) !== NO_NODE)
            add(block.blank, page);`,
    why: 'The copy that was made for a clone counts as one that can be made again, and is dropped (invariant 9).',
  },
  {
    name: 'let a device take pinned pages',
    file: 'src/core/faults.js',
    find: 'if (write && node !== HOST_NODE && has(block.pinned, page))',
    replace: 'if (false)',
    why: 'Memory that was promised to stay where it is goes (invariant 10).',
  },
  {
    name: 'leave a mapping of host memory while another node writes',
    file: 'src/core/operation-rules.js',
    find: `if (reached === node)
                return Access.Write;`,
    replace: `if (reached === node || reached === 0)
                return Access.Write;`,
    why: 'A device that reaches host memory in place reads old values (invariant 2).',
  },
  {
    name: 'switch memory before the old one is empty',
    file: 'src/core/sharing.js',
    find: 'const left = sendHome(state, block, task, processor.own);',
    replace: "const left = 'done';",
    why: 'What the device had of the block is behind a mapping that is gone.',
  },
  {
    name: 'take pages without a word to subscribers',
    file: 'src/core/operation.js',
    find: 'announce(state, block, operation);',
    replace: ';',
    why: 'A mirror of the page tables goes on using pages that are elsewhere.',
  },
  {
    name: 'keep advice of a processor that has gone',
    file: 'src/core/departures.js',
    find: 'forgetAdvised(state, processor, node);',
    replace: ';',
    why: "The next processor of that number reaches host memory in place, or keeps pages, by advice that was another one's.",
  },
  {
    name: 'stand in for a denied page with what was in the memory before',
    file: 'src/core/faults.js',
    find: 'releaseBacking(state, block, node, mask);',
    replace: ';',
    why: 'A kernel reads what a page that it may not read held at an earlier time.',
  },
  {
    name: 'stand in for a page that may not be read with the page itself',
    file: 'src/core/faults.js',
    find: "const hidden = reason !== 'READ_ONLY' && reason !== 'PINNED';",
    replace: 'const hidden = false;',
    why: 'A kernel reads a page that is protected against it; only its launch fails.',
  },
  {
    name: 'tell a clone less than its source said',
    file: 'src/core/absence.js',
    find: `case 'ACCESS_REFUSED':
            return Status.Refused;`,
    replace: `case 'ACCESS_REFUSED':
            return Status.Failed;`,
    why: 'Launches on a clone of pages that a provider refuses fail for another reason, and take a healthy device with them.',
  },
  {
    name: 'serve others before the page that failed',
    file: 'src/core/faults.js',
    find: `if (failure !== Status.Done)
        putFirst(block, block.ended.page);`,
    replace: '',
    why: 'Two processors that want pages of one block which cannot be had go round for ever.',
  },
  {
    name: 'ask for a group again that failed where it is reached in place',
    file: 'src/core/sharing.js',
    find: 'if (narrow)',
    replace: 'if (false)',
    why: 'A launch that touches in place what cannot be had never ends.',
  },
  {
    name: 'end a device that is denied what it reaches in place',
    file: 'src/core/faults.js',
    find: 'const stranded = processor.coveredPages >= COVERED_PAGES;',
    replace: 'const stranded = true;',
    why: 'The death of one device takes those along that were to reach its pages in place.',
  },
  {
    name: 'call lost what was on its way to a device that died',
    file: 'src/core/service.js',
    find: "reason = 'DEVICE_LOST';",
    replace: "reason = 'LOST';",
    why: 'A program is told to overwrite an array of which nothing is lost.',
  },
  {
    name: 'know nothing of what a clone has lost with its source',
    file: 'src/core/absence.js',
    find: `for (let at = page; at !== -1; at = sourceOf(state, at)) {
        const block`,
    replace: `for (let at = page; at === page; at = -1) {
        const block`,
    why: 'residency() calls a page there that ends the process which touches it.',
  },
  {
    name: 'fill a page of a clone from where it had been',
    file: 'src/pager/arrays/clones.js',
    find: 'const same = runFrom(range, page, run, source) === run;',
    replace: 'const same = true;',
    why: 'A clone reads what was written to its source afterwards.',
  },
  {
    name: 'forget which memory a device finds at addresses that are used again',
    file: 'src/core/va-space.js',
    find: 'this.blocks.set(each, createBlockAfter(left, range));',
    replace: 'this.blocks.delete(each);',
    why: 'A device reads and writes host memory that belongs to nobody, and its own is filled for nothing.',
  },
  {
    name: 'say nothing of lost pages to who asks for them',
    file: 'src/core/service.js',
    find: 'reason ??= loss(block, task);',
    replace: ';',
    why: 'A prefetch of lost pages says that all is well.',
  },
  {
    name: 'save a page for clones before the writer has it',
    file: 'src/core/faults.js',
    find: 'if (has(absent, page))',
    replace: 'if (false)',
    why: 'A write that fails takes pages from clones for good that could be had again.',
  },
  {
    name: 'lose a page of a clone that its source still has',
    file: 'src/core/tasks.js',
    find: '!lastChance || size(mask) > 1',
    replace: 'size(mask) > 1',
    why: 'A device that dies before it writes, or want of memory, takes pages from clones for good.',
  },
  {
    name: 'let a writer on though a clone has not got the page',
    file: 'src/pager/arrays/clones.js',
    find: 'manager.saved(page, end - page, failure);',
    replace: 'manager.saved(page, end - page, null);',
    why: 'A clone reads what was written to its source afterwards (invariant 9).',
  },
  {
    name: 'keep from clones what their source is protected against',
    file: 'src/core/tasks.js',
    find: 'return ahead ? null : protection(block, mask, access);',
    replace: 'return protection(block, mask, access);',
    why: 'A clone cannot be read any more when its source is protected against all access.',
  },
  {
    name: 'advise on a part of a block',
    file: 'src/core/advice.js',
    find: 'Math.ceil(end / PAGES_PER_BLOCK) * PAGES_PER_BLOCK',
    replace: 'end',
    why: 'An array that has grown within a block follows advice for a part of it, and keeps that of a device that has gone.',
  },
  {
    name: 'take what stands in for a page away with the memory of the page',
    file: 'src/core/state.js',
    find: 'const kept = ~going[word] | mapping.standIn[word];',
    replace: 'const kept = ~going[word];',
    why: 'The core believes a page to be unmapped that a device goes on using.',
  },
  {
    name: 'use frames again that are still being read',
    file: 'src/core/state.js',
    find: 'quarantine(state, node, end - first);',
    replace: '{ endToken(state, token); node.allocator?.release(frame, end - first); }',
    why: 'A copy that a device has begun reads what the frames got afterwards.',
  },
  {
    name: 'forget a node whose frames are still being read',
    file: 'src/core/departures.js',
    find: '(this.state.nodes[node]?.quarantinedPages ?? 0) > 0',
    replace: 'false',
    why: 'What waits for the end of the release waits for ever.',
  },
  {
    name: 'let who reaches host memory in place keep it while another node writes',
    file: 'src/core/operation.js',
    find: 'const to = meanwhile(operation, id, mapping.node);',
    replace: 'if (state.processors[id]?.own === NO_NODE) continue; const to = meanwhile(operation, id, mapping.node);',
    why: 'A processor without memory of its own reads old values.',
  },
  {
    name: 'count frames in quarantine as given back',
    file: 'src/core/state.js',
    find: 'node.backedPages += pages;',
    replace: ';',
    why: 'A node has more memory than its budget while a device still reads what was released.',
  },
  {
    name: 'take a host for shrunk whose pages have not left',
    file: 'src/core/memory-manager.js',
    find: `if (node.backedPages > pages)
            return node.backedPages - pages;`,
    replace: '',
    why: 'The host has more memory than its program was told.',
  },
  {
    name: 'forget what a file could not take back',
    file: 'src/core/operation.js',
    find: `if (status !== Status.Done) {
        operation.failure = status;
        return;
    }
    addRun(operation.settled, first, count);
    removeRun(block.dirty`,
    replace: `addRun(operation.settled, first, count);
    removeRun(block.dirty`,
    why: 'A full disk makes a page of a shared array what it was before.',
  },
  {
    name: 'let pages be written while their file takes them back',
    file: 'src/core/operation-rules.js',
    find: 'meanwhile: ({ node }, _processor, reached) => (reached === node ? Access.Read : Access.Write),',
    replace: 'meanwhile: all,',
    why: 'What is written meanwhile goes with the memory of the page.',
  },
  {
    name: 'free ahead the block that memory is wanted for',
    file: 'src/core/reclaim.js',
    find: `if (node.pressed)
        demoteAhead(state, node, pages);
    block.kept--;`,
    replace: `block.kept--;
    if (node.pressed)
        demoteAhead(state, node, pages);`,
    why: 'A block goes while it is being brought: two operations at once, or a thread that waits for ever.',
  },
  {
    name: 'read a store that has died with its content',
    file: 'src/core/departures.js',
    find: 'node.gone = !node.description.memorySurvives;',
    replace: 'node.gone = false;',
    why: 'Pages that are lost are not reported so, and whoever wants them is told of failed copies.',
  },
  {
    name: 'hand other machines a block that threads still write',
    file: 'src/pager/arrays/shared-blocks.js',
    find: "this.protect(block, 'read', () => this.copyOut(block, right))",
    replace: 'this.copyOut(block, right)',
    why: 'What is written meanwhile is in no content that any machine has.',
  },
  {
    name: 'keep pages of a block that other machines write',
    file: 'src/pager/arrays/shared-blocks.js',
    find: 'none: Access.None',
    replace: 'none: Access.Read',
    why: 'A thread reads what was there before another machine wrote.',
  },
  {
    name: 'put what other machines wrote beside what was here',
    file: 'src/pager/arrays/shared-blocks.js',
    find: 'this.manager.drop(request, first, count, true)',
    replace: 'this.manager.drop(request, first, count, false)',
    why: 'Pages that were written here once hide what others have written since.',
  },
  {
    name: 'leave who waits for other machines asleep when they let him',
    file: 'src/core/operation-rules.js',
    find: `unwritable[word] |= mask[word];
    }
    wakeWanting(block, mask);`,
    replace: `unwritable[word] |= mask[word];
    }`,
    why: 'A thread waits for ever for a right that it has.',
  },
];
