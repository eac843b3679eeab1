/**
 * Tests of the `onemem` command.
 *
 *   node .build/test/cli/main.js             all
 *   node .build/test/cli/main.js SIGINT      those whose name holds the word
 */
import './commands.js';
import './results.js';
import './refusals.js';
import './interruptions.js';
import './readme.js';
import { runTests } from './tests.js';

await runTests(process.argv[2] ?? '');
