/** A field of a line of CSV, in quotes where it needs them. */
export function csvField(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
