/** Granularities that a device may have: by how many bytes it gets memory and maps it. */

const LEAST_BYTES = 4096;
const MOST_BYTES = 128 * 2 ** 20;

/** What is wrong with a granularity of so many bytes, and what to write instead; null: nothing. */
export function wrongGranularity(bytes: unknown): string | null {
  const fits = typeof bytes === 'number' && bytes >= LEAST_BYTES && bytes <= MOST_BYTES;
  if (fits && Number.isInteger(Math.log2(bytes))) return null;
  const said = typeof bytes === 'number' ? `${bytes} bytes` : String(bytes);
  return (
    `${said}; it must be a power of two from ${LEAST_BYTES} (4KiB) to ${MOST_BYTES} (128MiB), ` +
    'for example 65536 (64KiB) or 4194304 (4MiB)'
  );
}
