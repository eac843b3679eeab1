/** The page of a run in a real browser: `npm run -s browser -- [FILE ...]`. */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
