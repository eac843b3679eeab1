/** Mistakes that are known and not mended yet: the model steers around them. Each is to go when it is mended. */
export const KNOWN = {
  /** Clones of pages that cannot be had: operations on them do not end, or kill a device. */
  clonesOfGone: true,
  /** residency() says `clone` for what was lost with a device. */
  residencyOfClones: true,
  /** Pages that cannot be had, reached in place: the launch does not end. */
  inPlaceOfGone: true,
  /** A lossy device that dies takes along another that is to reach its pages in place. */
  deathInPlace: true,
  /** A copy at a device that reaches its destination in place fails for want of memory. */
  copyInPlace: true,
  /** What is brought to a device that dies meanwhile is called lost. */
  bringingToTheDead: true,
  /** Prefetches and exclusive access of what is lost end well. */
  bringingLost: true,
  /** An array all of whose pages were freed by parts: some calls use its addresses, which may be another array's by then. */
  freedByParts: true,
};
