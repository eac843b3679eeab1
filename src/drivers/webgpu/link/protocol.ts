/** What driver and engine say to each other: one kind byte a packet, then JSON. */
import type { WgslCode } from '../../wgsl-launch.js';

export const Packet = {
  /** To the engine, first: JSON of Hello. */
  Hello: 1,
  /** From the engine: JSON of AdapterFacts; the device is there. */
  Ready: 2,
  /** From the engine: JSON of a text; there is no device. */
  Failed: 3,
  /** To the engine: [buffer, bytes]. */
  Create: 4,
  /** To the engine: [buffer]. */
  Destroy: 5,
  /** To the engine: JSON of Moves, filled with zeros where `file` is None. Answer: Moved. */
  Write: 6,
  /** To the engine: JSON of Moves. `Moved` answers each of them when its bytes are in the file. */
  Read: 7,
  /** To the engine: [from, offset, to, offset, bytes], between buffers. */
  Copy: 8,
  /** From the engine: [tokens, status]. */
  Moved: 9,
  /** To the engine: [module, a piece of its text]; pieces are put together. */
  Source: 10,
  /** To the engine: JSON of Dispatches, which follow without a wait. One `Launched` answers. */
  Dispatch: 11,
  /** From the engine: JSON of Launcheds, in the order of what they answer. */
  Launched: 12,
  /** From the engine: JSON of a text; the GPU is gone. */
  Lost: 13,
  /** To the engine, for tests: have the GPU be lost. */
  Lose: 14,
  /** To the engine: JSON of Round. `Launched` answers when what it reads is in the file. */
  Round: 15,
  /** To the engine: JSON of Fill. Answer: Moved; without memory the round is not run. */
  Fill: 16,
  /** To the engine: JSON of Drain. `Moved` answers when the bytes are in the host's memory. */
  Drain: 17,
  /** To the engine of a device that the program has lent: the device is used no more. */
  End: 18,
  /** To the engine: [buffer, another]; the empty buffer is the other one from now on. */
  Reuse: 19,
  /** To the engine: [module], which no later packet names. */
  Forget: 20,
} as const;

/** Characters of a module's text in one packet: JSON may take six bytes for each. */
export const SOURCE_PIECE = 16 * 1024;

/**
 * Memory that driver and engine both reach: the host's, what stands between the engine and any
 * other memory, and of a device that the program has lent what it holds.
 */
export const File = { None: 0, Host: 1, Staging: 2, Mirror: 3 } as const;
export type File = (typeof File)[keyof typeof File];

/** What drives a GPU: Dawn by `webgpu`, by its C functions in a package, or in a file. */
export type TransportChoice = 'dawn-node' | 'dawn-ffi' | { readonly library: string };

export interface Hello {
  readonly hostBytes: number;
  readonly stagingBytes: number;
  /** What drives the GPU, if the program says it. */
  readonly transport?: TransportChoice;
}

/** Limits that an engine's own GPU is opened with at their greatest, by their names in WebGPU. */
export const WANTED_LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxUniformBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxUniformBuffersPerShaderStage',
  'maxBindGroups',
  'maxBindingsPerBindGroup',
  'maxComputeWorkgroupsPerDimension',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
] as const;

/** Those that launches meet: an alignment is wanted as it is. */
const LIMITS = [...WANTED_LIMITS, 'minStorageBufferOffsetAlignment'] as const;

export type Limits = Readonly<Record<(typeof LIMITS)[number], number>>;

/** Of all that a device has. */
export function limitsOf(all: Limits): Limits {
  return Object.fromEntries(LIMITS.map((name) => [name, all[name]])) as unknown as Limits;
}

/** What is known of a GPU: its name, and its device's limits and features. */
export interface AdapterFacts {
  /** What drives it, if that was a choice. */
  readonly transport?: string;
  readonly name: string;
  /** The GPU's own name, if WebGPU tells it; in small letters, where that is the standard's. */
  readonly model?: string;
  readonly limits: Limits;
  readonly features: readonly string[];
}

/** Bytes of a buffer: its number, where they begin, how many. */
export type Part = readonly [buffer: number, offset: number, bytes: number];

/** Bytes that go from a file to parts of buffers, one after the other, or back. */
export interface Move {
  /**
   * Null: a write that the manager does not wait for; where there is no memory for its buffer, the
   * engine keeps what it brings until there is.
   */
  readonly tokens: readonly number[] | null;
  readonly file: File;
  /** Where they begin in the file. */
  readonly at: number;
  readonly parts: readonly Part[];
}

/** Pages of a launch in one piece of memory, that go to parts of buffers in order. */
export interface Fill extends Omit<Move, 'tokens'> {
  readonly token: number;
  readonly launch: number;
}

/** Bytes of a buffer that go to many places of the host's memory, one after the other. */
export interface Drain {
  readonly token: number;
  readonly from: Part;
  readonly to: readonly (readonly [at: number, bytes: number])[];
}

/**
 * Modules that a device keeps, and pipelines that an engine does. More than one launch names: what
 * launches under way use is never the oldest.
 */
export const MOST_MODULES = 256;

/** What is written before dispatches of one launch, in order, and read after them. */
export interface Round {
  readonly writes: readonly Omit<Move, 'tokens'>[];
  readonly dispatches: readonly Dispatch[];
  readonly read: Omit<Move, 'tokens'>;
}

/** An argument that cannot be bound in place: copied to a buffer, and back if written. */
export interface Aside {
  readonly part: Part;
  readonly back: boolean;
}

/** What is bound to one variable of the module. */
export type Bound = {
  readonly group: number;
  readonly binding: number;
} & (
  | { readonly kind: 'buffer'; readonly writable: boolean; readonly part: Part }
  /** By its index in `asides`. */
  | { readonly kind: 'aside'; readonly writable: boolean; readonly index: number }
  /** Bytes in base64. */
  | { readonly kind: 'uniform'; readonly bytes: string }
);

export interface Dispatch {
  readonly launch: number;
  readonly module: number;
  /** The kernel's own, where this was made of it for a part of the launch. */
  readonly original?: { readonly module: number; readonly entryPoint: string };
  readonly entryPoint: WgslCode['entryPoint'];
  /** Values of `override` declarations, as a pipeline takes them. */
  readonly constants: Readonly<Record<string, number>>;
  readonly asides: readonly Aside[];
  /** What is set to zero before it runs. */
  readonly zeros: readonly Part[];
  readonly bound: readonly Bound[];
  readonly workgroups: readonly [number, number, number];
}

/** Most dispatches without a wait between: each has its stamps of the GPU's clock. */
export const MOST_DISPATCHES = 32;

export interface Launched {
  readonly launch: number;
  /** What comes after one that has failed has not run, and has the same failure. */
  readonly failure: {
    readonly code: 'KERNEL_ERROR' | 'DEVICE_MEMORY';
    readonly message: string;
  } | null;
  /** How many milliseconds the GPU worked on it, where it measures that. */
  readonly gpuMs?: number;
}
