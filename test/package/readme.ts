/** The example of the README, as a program. */

/**
 * The first block of JavaScript or TypeScript. Throws when there is none, so that its absence does
 * not count as a success.
 */
export function firstExample(readme: string): string {
  const match = /^```(?:js|ts|javascript|typescript)\n([\s\S]*?)^```$/m.exec(readme);
  if (match === null)
    throw new Error(
      'README.md has no block of JavaScript or TypeScript, but should begin with an example',
    );
  return match[1];
}

/** What the example says that it prints: the comments behind its calls of console.log. */
export function expectedOutput(example: string): string {
  const lines = [...example.matchAll(/^.*console\.log\(.*\);(.*)$/gm)].map(([line, rest]) => {
    const [, comment] = /^\s*\/\/ (.+)$/.exec(rest) ?? [];
    if (comment === undefined)
      throw new Error(`the README's example does not say what this line prints: ${line}`);
    return comment.trim();
  });
  if (lines.length === 0)
    throw new Error(
      "the README's example prints nothing, so that nobody can tell whether it works",
    );
  return lines.join('\n');
}
