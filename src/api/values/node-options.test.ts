import { describe, expect, it } from 'vitest';
import { moduleOptions } from './node-options.js';

describe('options that threads are started with', () => {
  it('are those of loaders, in either way of writing them', () => {
    const loaders = [
      '--require',
      '/a/preflight.cjs',
      '--import=file:///a/loader.mjs',
      '-r',
      'x',
      '-C',
      'development',
    ];
    expect(moduleOptions(loaders)).toEqual(loaders);
  });

  it('are not those of the program alone', () => {
    expect(
      moduleOptions([
        '--input-type=module',
        '-e',
        '1',
        '--expose-gc',
        '--inspect-brk',
        '--max-old-space-size=99',
      ]),
    ).toEqual([]);
  });

  it('include those of source maps and of types', () => {
    const options = ['--enable-source-maps', '--no-experimental-strip-types', '--no-warnings'];
    expect(moduleOptions(options)).toEqual(options);
  });
});
