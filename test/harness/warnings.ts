/** What Node.js is given to warn a program of. */
export type Warning = Error & { code?: string };

/** The warnings of an action, which Node.js gives in its next turn. */
export async function warningsOf(action: () => unknown): Promise<Warning[]> {
  const warnings: Warning[] = [];
  const listen = (warning: Error): number => warnings.push(warning);
  process.on('warning', listen);
  await action();
  await new Promise(setImmediate);
  process.off('warning', listen);
  return warnings;
}
