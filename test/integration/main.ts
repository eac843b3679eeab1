/** What the library promises, file by file: `npm run -s integration -- [FILE ...]`. */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
