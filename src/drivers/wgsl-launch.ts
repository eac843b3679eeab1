/**
 * What the manager and a device agree on whose kernels are modules in WGSL: the modules, how their
 * parameters reach them, and how a launch runs that is larger than the device.
 */
import type { PageCopy, PageRounds } from '../wgsl/dividing/page-rounds.js';
import type { UniformValue } from '../wgsl/reading/uniform-value.js';
import type { DriverLaunch, KernelCode } from './driver.js';

/**
 * A place in a uniform variable: of a number, which is a parameter of the kernel or what the launch
 * covers; or of a parameter that comes as bytes. What comes later in a list stands above what comes
 * before.
 */
export interface UniformMember {
  /** A parameter's name; for `launch`: begin, end or size. */
  readonly name: string;
  readonly from: 'parameter' | 'launch';
  readonly type: 'i32' | 'u32' | 'f32' | 'bytes';
  readonly offset: number;
}

/** What a variable of a WGSL module is bound to. */
export type WgslBinding = { readonly group: number; readonly binding: number } & (
  | {
      readonly kind: 'array';
      readonly parameter: string;
      /** What the module calls it, where that is another name. */
      readonly variable?: string;
      readonly writable: boolean;
      readonly leastBytes: number;
    }
  | { readonly kind: 'uniform'; readonly bytes: number; readonly members: readonly UniformMember[] }
);

/** A value that a kernel gives to an `override` declaration of its module. */
export interface WgslConstant {
  readonly name: string;
  /** What the pipeline calls it: the number of its `@id`, or its name. */
  readonly key: string;
  readonly value: number | boolean;
}

/** A module in WGSL, and how the parameters of the kernel reach it. */
export interface WgslCode {
  readonly kind: 'wgsl';
  readonly source: string;
  readonly entryPoint: string;
  readonly workgroupSize: readonly [number, number, number];
  readonly bindings: readonly WgslBinding[];
  readonly constants: readonly WgslConstant[];
}

/** What a launch runs: a function where the device has threads, a WGSL module where it is a GPU. */
export type AnyKernelCode = KernelCode | WgslCode;

export interface WgslLaunch extends Omit<DriverLaunch, 'code'> {
  readonly code: WgslCode;
  /** Invocations in each dimension, where the size has some; their product is `size`. */
  readonly dimensions?: readonly [number, number, number];
  /** Set where this is a part of a launch that was cut. */
  readonly part?: WgslPart;
  /** Arrays that are set to zero before it runs. */
  readonly zeroed?: readonly string[];
  /** How it is to run; the driver chooses where nothing is said. */
  readonly way?: LaunchWay;
  /** What small arrays hold that it only reads, by the name of the variable, as far as it is known. */
  readonly known?: Readonly<Record<string, UniformValue>>;
}

/** Bytes of the space that are to be read before a launch is planned. */
export interface BytesWanted {
  readonly at: number;
  readonly bytes: number;
}

/** Plans in slices: what it yields is to be answered with these bytes; null: they cannot be had. */
export type Planning<T> = Generator<BytesWanted | undefined, T, Uint8Array | null>;

/** As it is, in parts on windows, or with pages brought as they are touched. */
export type LaunchWay = 'direct' | 'windowed' | 'paged';

/** Which workgroups a part of a launch has, and where its module is told that. */
export interface WgslPart {
  /** The kernel's own, of which the part's was made: mistakes are told by its lines and columns. */
  readonly original: WgslCode;
  readonly workgroups: readonly [number, number, number];
  readonly group: number;
  readonly binding: number;
  /** Of the uniform variable there, in base64. */
  readonly content: string;
  /** Set where arrays of it are paged. */
  readonly paged?: PagedPart;
}

/** A part that runs again and again, each time with the pages that it lacked the time before. */
export interface PagedPart {
  readonly rounds: PageRounds;
  /** Why it has no parts with windows of its arrays. */
  readonly why: string;
  /** Why it runs by a plan or not at all; null: it may run in rounds. */
  readonly once: string | null;
  /** Where the arrays begin whose pages these are, by byte, in the order of the tables. */
  readonly offsets: readonly number[];
  /** Bindings of the page table and of notes, in the part's uniform group. */
  readonly pages: number;
  readonly notes: number;
  /** How many invocations, or workgroups, are run by themselves. */
  readonly units: number;
  /** Words that have a bit for each of them. */
  readonly maskWords: number;
  /** Words behind those for pages: whether a log was full, and the logs; 0: there are none. */
  readonly logWords: number;
  /** It begins to run in rounds: what comes before the first of them. */
  begin(): readonly PageCopy[];
  /** Contents of the uniform variable, for each dispatch of a round. */
  contents(): readonly string[];
  /** How it may run without rounds: null where it cannot be told before which pages it touches. */
  plan(): PagePlan | null;
  /** Whether numbers tell which pages it touches, and these are not all of an array. */
  tells(): boolean;
  /** The same plan of the part after it; null also where there is none. */
  next(): PagePlan | null;
}

/** A part whose pages arrays name by number: it runs once they have come, unchecked. */
export interface PagePlan {
  /** Where the numbers lie, by byte. */
  readonly numbers: readonly { readonly at: number; readonly bytes: number }[];
  /** Finds them in slices. @returns null: there is no room for a workgroup's pages */
  dispatches(
    numbers: readonly Uint32Array[],
  ): Generator<undefined, readonly PlannedDispatch[] | null>;
}

export interface PlannedDispatch {
  readonly code: WgslCode;
  /** Of the uniform variable, and of the table of pages. */
  readonly group: number;
  readonly binding: number;
  readonly pages: number;
  readonly workgroups: readonly [number, number, number];
  /** Of the uniform variable, in base64. */
  readonly content: string;
  /** What is to be there, by table. */
  readonly wanted: readonly (readonly number[])[];
}

/**
 * What pages are wanted on the host for: to be copied to the device, since a kernel lacked them or
 * since a plan names them, or from there, or to be looked at.
 */
export type WantedFor = 'device' | 'plan' | 'home' | 'look';

/** Parts of a launch that is too large. They run one at a time, in any order. */
export interface LaunchDivision {
  readonly way: Exclude<LaunchWay, 'direct'>;
  readonly count: number;
  /** Bytes of memory that parts want besides, for pages of arrays that are not there as a whole. */
  readonly poolBytes: number;
  /** What differs: arguments are windows, none is `out`. @param pool where memory begins */
  partAt(index: number, pool: number): Pick<WgslLaunch, 'code' | 'parameters' | 'part'>;
  /** It runs: the next one like it begins with what its last part leaves on the device. */
  begin(): void;
}
