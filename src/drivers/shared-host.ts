/** The host's memory, as far as other processes have it mapped. */

/** What another process has mapped of the host's memory. */
export interface HostSharer {
  /** Takes the right to write. No thread there can write any more when this returns. */
  stopWrites(page: number, count: number): void;
  /** Pages whose accesses fail there, if it has such, may be used again. */
  restore?(page: number, count: number): void;
}

export interface SharedHost {
  addSharer(sharer: HostSharer): void;
  removeSharer(sharer: HostSharer): void;
  /** Takes pages out of the page tables of every process. */
  unmapEverywhere(page: number, count: number): void;
}
