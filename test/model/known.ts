/** Mistakes that are known and not mended yet: the model steers around them. Each is to go when it is mended. */
export const KNOWN = {
  /** An array all of whose pages were freed by parts: some calls use its addresses, which may be another array's by then. */
  freedByParts: true,
};
