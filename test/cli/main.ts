/** The `onemem` command: `npm run -s cli-test -- [FILE ...]`. */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
