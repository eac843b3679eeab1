/**
 * What the thread of a manager prints goes to standard error: standard output is the program's
 * alone. The thread preloads this before modules that the program preloads, which may print.
 */
Object.defineProperty(process, 'stdout', { configurable: true, get: () => process.stderr });
