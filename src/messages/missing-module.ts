/** What to say where a user's module, or one that it imports, is not there. */

const MISSING = /^Cannot find (module|package) '(.+?)'(?: imported from (.+))?/;

/** Where a file lies, whether it is named by its path or by its URL. */
function pathOf(name: string): string {
  if (!name.startsWith('file:')) return name;
  try {
    return decodeURIComponent(new URL(name).pathname);
  } catch {
    return name;
  }
}

/** Null: the error, which came of the import of `url`, is another one. */
export function missingModule(url: string, error: unknown): string | null {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null;
  const [, kind, name = '', importer] = MISSING.exec(String(message)) ?? [];
  if (kind === undefined) return null;
  if (pathOf(name) === pathOf(url))
    return (
      `there is no file ${pathOf(url)}; new URL('./module.js', import.meta.url) begins at the folder of the file that it stands in, ` +
      'which after a build is another one than that of its source'
    );
  const where = importer === undefined || importer === pathOf(url) ? 'it' : importer;
  if (kind === 'package')
    return `${where} imports package ${name}, which is not installed where it is looked for: in node_modules beside ${pathOf(importer ?? url)}, and above`;
  return `${where} imports ${name}, and there is no such file; the path begins at the folder of the file that imports it, and needs its extension`;
}
