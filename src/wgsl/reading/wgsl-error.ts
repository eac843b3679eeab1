/** What is wrong with a module, or not supported, and where in the user's source. */

/** Line and column, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export class WgslError extends Error {
  override readonly name = 'WgslError';
  readonly position: Position;

  /** @param offset where in the source it stands, in characters */
  constructor(source: string, offset: number, problem: string) {
    const position = positionAt(source, offset);
    super(`${position.line}:${position.column}: ${problem}`);
    this.position = position;
  }
}

export function positionAt(source: string, offset: number): Position {
  const before = source.slice(0, offset);
  const begin = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line++;
  return { line, column: offset - begin + 1 };
}
