/**
 * GPUs by WebGPU, file by file: `node scripts/software-gpu.mjs node .build/test/webgpu/main.js
 * [FILE ...]`.
 */
import { runFolder } from '../harness/runner.js';

await runFolder(import.meta.url);
