/** Tables of text. */

/** Columns of text: the first ones stand to the left, the others to the right. */
export function alignColumns(rows: readonly (readonly string[])[], left = 1): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column < left ? cell.padEnd(widths[column]) : cell.padStart(widths[column]),
      )
      .join('  ')
      .trimEnd(),
  );
}
