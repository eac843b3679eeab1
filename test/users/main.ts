/**
 * What new users, attackers and a comparison with a model ran into, each with a test that failed
 * before it was mended: `npm run -s users -- [FILE ...]`.
 */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
