/**
 * Options of the node command that the threads of a space and of its devices are started with:
 * those that say how modules are loaded, so that a loader for TypeScript, say, finds kernels,
 * drivers and providers there, too. All others are for the program itself: a thread refuses some
 * (--expose-gc), and cannot be started with others (--input-type, after `node -e`).
 */

const WITH_VALUE = [
  '--require',
  '-r',
  '--import',
  '--loader',
  '--experimental-loader',
  '--conditions',
  '-C',
];
const FLAG =
  /^--(no-)?(enable-source-maps|preserve-symlinks|(experimental-)?strip-types|experimental-transform-types|experimental-require-module|experimental-detect-module|warnings|disable-warning=.*)$/;

export function moduleOptions(execArgv: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < execArgv.length; index++) {
    const option = execArgv[index];
    if (WITH_VALUE.includes(option)) kept.push(option, execArgv[++index]);
    else if (FLAG.test(option) || WITH_VALUE.some((each) => option.startsWith(`${each}=`)))
      kept.push(option);
  }
  return kept;
}
