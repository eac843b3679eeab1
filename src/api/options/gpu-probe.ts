/** What GPU there is, asked in a process of its own, since a driver may end the one that asks. */
import { fileURLToPath } from 'node:url';
import type { GpuMemory } from '../../drivers/webgpu/gpu/gpu-memory.js';
import type { AdapterFacts, TransportChoice } from '../../drivers/webgpu/link/protocol.js';
import { ownFile } from '../../linux/own-files.js';
import { nodeBinary } from '../../linux/processes/node-binary.js';

/** A driver that is stuck is as good as none. */
const LIMIT_MS = 20_000;
/** What WebGPU and drivers say meanwhile. */
const MOST_TEXT_BYTES = 2 ** 24;

export interface GpuThere {
  readonly facts: AdapterFacts;
  /** Null: no driver of Vulkan's knows it. */
  readonly memory: GpuMemory | null;
}

export type FoundGpu = GpuThere | { readonly problem: string };

/** @param transport what is to drive it, if the program says it */
export function probeGpu(transport?: TransportChoice): Promise<FoundGpu> {
  // Few programs ask.
  const { execFile } = process.getBuiltinModule('node:child_process');
  const options = { timeout: LIMIT_MS, killSignal: 'SIGKILL', maxBuffer: MOST_TEXT_BYTES } as const;
  return new Promise((resolve) => {
    const said = transport === undefined ? [] : [JSON.stringify(transport)];
    execFile(
      nodeBinary(),
      [fileURLToPath(ownFile('drivers/webgpu/probe.js')), ...said],
      options,
      (error, stdout) => {
        try {
          resolve(JSON.parse(stdout) as FoundGpu);
        } catch {
          const why = error?.signal ?? error?.message ?? 'it said nothing';
          resolve({ problem: `its driver ended the process that asked (${why})` });
        }
      },
    );
  });
}
