/** The example of the README, as a program. */

/** The first block of JavaScript or TypeScript. Throws when there is none, so that nobody takes its absence for a success. */
export function firstExample(readme: string): string {
  return examples(readme)[0];
}

/** Every block of JavaScript or TypeScript, at least one. */
export function examples(text: string): string[] {
  const found = [...text.matchAll(/^```(?:js|ts|javascript|typescript)\n([\s\S]*?)^```$/gm)].map(([, block]) => block);
  if (found.length === 0)
    throw new Error('the page has no block of JavaScript or TypeScript, but should begin with an example');
  return found;
}

/** What the example says that it prints: the comments behind its calls of console.log. */
export function expectedOutput(example: string): string {
  const lines = [...example.matchAll(/^.*console\.log\(.*\);(.*)$/gm)].map(([line, rest]) => {
    const [, comment] = /^\s*\/\/ (.+)$/.exec(rest) ?? [];
    if (comment === undefined) throw new Error(`the README's example does not say what this line prints: ${line}`);
    return comment.trim();
  });
  if (lines.length === 0)
    throw new Error("the README's example prints nothing, so that nobody can tell whether it works");
  return lines.join('\n');
}
