/** Words and signs of a module's text. */

export interface Token {
  readonly text: string;
  /** Where it stands, in characters. */
  readonly at: number;
  readonly isName: boolean;
}

const TOKEN = /(?<name>[_\p{XID_Start}]\p{XID_Continue}*)|\d[\w.]*|&&|\|\||<<=?|<=|>=|==|!=|\S/uy;

/** `>=` is one token, though it may end a template list. @param source without comments */
export function* tokensOf(source: string): Generator<Token> {
  const pattern = new RegExp(TOKEN);
  for (let at = nextAt(source, 0); at < source.length; at = nextAt(source, pattern.lastIndex)) {
    pattern.lastIndex = at;
    const [text, name] = pattern.exec(source) as RegExpExecArray;
    yield { text: text as string, at, isName: name !== undefined };
  }
}

const BLANK = /\s*/y;

function nextAt(source: string, from: number): number {
  BLANK.lastIndex = from;
  BLANK.test(source);
  return BLANK.lastIndex;
}
