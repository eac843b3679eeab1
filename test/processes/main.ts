/** Several processes on one space: `npm run -s processes -- [FILE ...]`. */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
