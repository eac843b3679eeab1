// Sizes, rates and times as people write and read them.

/** Three digits that count, without a tail of zeros: 1.5, 64, 0.25, 1023. */
function digits(value: number): string {
  const text = value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** '512 B', '1.5 GiB'. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes)) return '? B';
  const sign = bytes < 0 ? '-' : '';
  let value = Math.abs(bytes);
  if (value < 1024) return `${sign}${Math.round(value)} B`;
  for (const unit of ['KiB', 'MiB', 'GiB', 'TiB', 'PiB']) {
    value /= 1024;
    // 1023.7 KiB would be shown as 1024 KiB: one MiB, then.
    if (value < 1023.5 || unit === 'PiB') return `${sign}${digits(value)} ${unit}`;
  }
  throw new Error('unreachable');
}

/** '850 MiB/s'; '?' where no time has passed. */
export function formatRate(bytes: number, milliseconds: number): string {
  return milliseconds > 0 ? `${formatBytes((bytes * 1000) / milliseconds)}/s` : '? B/s';
}

/** '12 us', '850 ms', '12.3 s', '2 min 5 s', '1 h 2 min'. */
export function formatDuration(milliseconds: number): string {
  if (!Number.isFinite(milliseconds) || milliseconds < 0) return '?';
  if (milliseconds < 0.9995) return `${digits(milliseconds * 1000)} us`;
  if (milliseconds < 999.5) return `${digits(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${digits(milliseconds / 1000)} s`;
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** '3,000,000', whatever the language of the machine: reports are compared and searched. */
export function formatCount(count: number | bigint): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** A name may have characters that move the cursor of a terminal. */
export function plain(name: string): string {
  return name.replace(/\p{Cc}/gu, '?');
}

/** A field of a line of CSV, in quotes where it needs them. */
export function csvField(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
