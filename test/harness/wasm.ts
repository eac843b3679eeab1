/** WebAssembly.Memory, whose types are not those of Node.js. */
export interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

interface Size {
  readonly initial: number;
  readonly maximum?: number;
  readonly shared?: boolean;
}

/** A memory of so many pages of 64 KiB. */
export function wasmMemory(size: Size): Memory {
  const { WebAssembly } = globalThis as unknown as {
    WebAssembly: { Memory: new (size: Size) => Memory };
  };
  return new WebAssembly.Memory(size);
}
