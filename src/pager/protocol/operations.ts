/** What runs on streams, and what is said of it. */
import type { LaunchParameter } from '../../drivers/driver.js';
import type { AnyKernelCode, LaunchWay, WgslLaunch } from '../../drivers/wgsl-launch.js';
import type { ArrayPages, BytePlace } from './pages.js';
import type { WireError } from './wire.js';

export interface CopyOrder {
  readonly to: BytePlace;
  readonly from: BytePlace;
  readonly bytes: number;
  /** Device whose memory is to have the bytes, 0: the host; null: where the target is. */
  readonly at: number | null;
}

/** An argument of a launch that is used where the indices in another one say. */
export interface Gather {
  readonly table: string;
  readonly indices: string;
  /** Elements of the table for each index. */
  readonly row: number;
}

/** The size of a launch, as so many numbers of 32 bits from this byte of the space on. */
export interface SizeElements {
  readonly offset: number;
  readonly numbers: number;
  /** Set where the numbers count workgroups: work items of one of these, in each dimension. */
  readonly workgroup?: readonly [number, number, number];
}

/** What is said of a launch by itself. */
export interface LaunchRequest extends Omit<WgslLaunch, 'id' | 'parameters' | 'code'> {
  readonly kind: 'launch';
  /** Number of the device. */
  readonly device: number;
  readonly code: AnyKernelCode;
  readonly parameters: readonly LaunchParameter[];
  readonly arrays: readonly ArrayPages[];
  /** Arguments of which it uses what others name. */
  readonly gathers: readonly Gather[];
  /** Where its size stands: begin, end and size tell nothing until it is read. */
  readonly indirect?: SizeElements;
  /** How long it may run; null: as long as it likes. */
  readonly timeoutMs: number | null;
}

/** What would become of a launch. */
export interface LaunchForecast {
  readonly way: LaunchWay | 'refused';
  readonly parts: number;
  readonly paging: 'none' | 'faults' | 'planned' | 'rounds';
  /** Null: that depends on what arrays hold. */
  readonly bytesIn: number | null;
  readonly bytesOut: number | null;
  /** Why it is not cut into windows of its arrays, where it is paged. */
  readonly why: string | null;
  readonly failure: WireError | null;
}

/** Something that runs on a stream, in order. Events are numbered within their stream, from 1. */
export type StreamOperation = {
  readonly stream: number;
  readonly sequence: number;
  /** No more will come: the stream has ended with it. */
  readonly last?: boolean;
} & (
  | LaunchRequest
  | (ArrayPages & {
      readonly kind: 'prefetch';
      /** Number of the device; 0: the host. */
      readonly device: number;
      /** For the processor alone, with the right to write. */
      readonly exclusive: boolean;
    })
  | ({ readonly kind: 'copy' } & CopyOrder)
  /** The content of whole pages is forgotten. */
  | (ArrayPages & { readonly kind: 'discard' })
  /** `whole`: all that the array has by then. */
  | (ArrayPages & { readonly kind: 'free'; readonly whole: boolean })
  /** A function of the program's: the thread with this id runs it and says when it is through. */
  | { readonly kind: 'call'; readonly thread: number }
  /** What was cancelled before it was handed in. */
  | { readonly kind: 'cancelled'; readonly reason: string }
  | {
      readonly kind: 'wait';
      readonly other: number;
      readonly otherSequence: number;
      /** How the event failed, if the program knows that. */
      readonly failure: WireError | null;
    }
  | { readonly kind: 'marker' }
);

export interface Cancellation {
  readonly stream: number;
  readonly sequence: number | null;
  /** No more operations will come. */
  readonly ended: boolean;
  /** Why, as the program says it. */
  readonly reason: string;
}

export interface StreamEvent {
  readonly stream: number;
  readonly sequence: number;
  readonly result: 'done' | 'failed' | 'cancelled';
  readonly error: WireError | null;
  /** Milliseconds on the manager's clock: when the operation's turn came, and when it ended. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Of a prefetch: bytes that are there. Of a copy: bytes copied. */
  readonly bytes: number;
  /** Of a prefetch: the pages that it was about, no more than there was room for. */
  readonly pages: number;
  /** Of a launch: milliseconds for which its kernel ran on a GPU, where that tells. */
  readonly gpuMs?: number;
}

/** What is said of an operation that has ended. */
export type OperationFigures = Partial<Pick<StreamEvent, 'bytes' | 'pages' | 'gpuMs'>>;

/** Called once, in the manager, when an operation has ended. */
export type OperationDone = (error: WireError | null, figures?: OperationFigures) => void;
