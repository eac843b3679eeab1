/**
 * Where the package's own files are, and whether they are there: the package starts threads and
 * processes from files of its own, and loads a native library. Neither is in a bundle that a user
 * makes of it.
 *
 * The build joins modules in chunks one folder below dist/, as deep as this file lies. So others ask
 * it, and do not name files from where they are.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where this module is; null where a CommonJS bundle has no `import.meta`. */
function placeOf(url: string | undefined): URL | null {
  return url !== undefined && URL.canParse(url) ? new URL(url) : null;
}

/** @param path from dist/ on, such as `drivers/webgpu/probe.js`; empty for dist/ itself */
export function ownFile(path: string): URL {
  return new URL(`../${path}`, import.meta.url);
}

/** A shipped file beside dist/, such as `examples/flights/kernel.js`; null: it is missing. */
export function packageFile(path: string): URL | null {
  // From dist/, and from .build/src/.
  const places = ['../', '../../'].map((up) => ownFile(`${up}${path}`));
  return places.find((place) => existsSync(place)) ?? null;
}

/** The modules of the threads that each space has. */
export interface ManagerFiles {
  readonly manager: URL;
  readonly sentinel: URL;
  /** What the manager preloads before modules of the program. */
  readonly output: URL;
}

/** Null where they are not beside this module. */
export function managerFiles(): ManagerFiles | null {
  const here = placeOf(import.meta.url);
  if (here?.protocol !== 'file:') return null;
  const manager = new URL('../pager/manager/manager.cjs', here);
  return existsSync(manager)
    ? {
        manager,
        sentinel: new URL('sentinel.cjs', manager),
        output: new URL('standard-output.cjs', manager),
      }
    : null;
}

/** The thread that watches the manager for threads other than the space's opener. */
export function witnessFile(): URL {
  return ownFile('pager/manager/witness.js');
}

/** The module of the thread that tells a program what it may act on. */
export function signalsFile(): URL {
  return ownFile('api/threads/signals.js');
}

/** The module of the thread that serves the live picture of a space. */
export function pictureFile(): URL {
  return ownFile('api/threads/picture.js');
}

/** The module of a thread that watches for the end of another process, which opened a space. */
export function attachedWatchFile(): URL {
  return ownFile('pager/attached/watch.cjs');
}

/** The program behind the command `onemem`. */
export function commandFile(): URL {
  return ownFile('cli/main.js');
}

/** What the author of a bundle can do about it. */
export function bundledMessage(): string {
  const here = placeOf(import.meta.url);
  const bundle =
    here?.protocol === 'file:' ? fileURLToPath(here) : (process.argv[1] ?? 'another file');
  return (
    `onemem was bundled into ${bundle}, but it needs the files of its package: mark onemem as external, and install it where the program ` +
    'runs (esbuild --external:onemem or --packages=external; external in rollup and tsup; ssr.external in vite; externals in webpack; ' +
    'serverExternalPackages in Next.js)'
  );
}
