/** Comments of a module. */

/** The source with spaces in the places of its comments. */
export function withoutComments(source: string): string {
  let text = '';
  for (let at = 0; at < source.length; ) {
    const end = commentEnd(source, at);
    text += end === at ? source[at] : source.slice(at, end).replace(/[^\n]/g, ' ');
    at = Math.max(end, at + 1);
  }
  return text;
}

/** Where the comment ends that begins here; here, where none does. */
function commentEnd(source: string, start: number): number {
  if (source.startsWith('//', start)) {
    const length = source.slice(start).search(/[\n\v\f\r\u0085\u2028\u2029]/);
    return length === -1 ? source.length : start + length;
  }
  if (!source.startsWith('/*', start)) return start;
  // They may have others in them.
  let depth = 1;
  let at = start + 2;
  for (; depth > 0 && at < source.length; at++) {
    const token = source.slice(at, at + 2);
    if (token !== '/*' && token !== '*/') continue;
    depth += token === '/*' ? 1 : -1;
    at++;
  }
  return at;
}
