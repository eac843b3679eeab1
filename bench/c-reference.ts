/** Builds the C programs of bench/reference when there is a compiler, and runs them. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const flags = ['-O2', '-pthread'];

/** The program's path, or why there is none. Built once for each text of the source. */
export function buildReference(name: string): { path: string } | { missing: string } {
  // From .build/bench/, where this runs, to the source tree.
  const source = fileURLToPath(new URL(`../../bench/reference/${name}.c`, import.meta.url));
  const compiler = process.env['CC'] ?? 'cc';
  const key = createHash('sha256')
    .update(readFileSync(source))
    .update(`${compiler} ${flags.join(' ')}`)
    .digest('hex');
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'onemem-bench');
  const path = join(folder, `${name}-${key.slice(0, 16)}`);
  if (existsSync(path)) return { path };
  mkdirSync(folder, { recursive: true });
  const made = `${path}.${process.pid}`;
  const { status, error, stderr } = spawnSync(compiler, [...flags, '-o', made, source], {
    encoding: 'utf8',
  });
  if (error !== undefined) return { missing: `no C compiler (${compiler}): ${error.message}` };
  if (status !== 0)
    return { missing: `${compiler} failed: ${stderr.trim().split('\n').slice(-1)[0]}` };
  renameSync(made, path);
  return { path };
}

/** Runs a program that prints one number. */
export function runReference(path: string, args: readonly (string | number)[]): number {
  const { status, stdout, stderr, error } = spawnSync(path, args.map(String), {
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${path} ${args.join(' ')} exited with ${status}: ${stderr.trim()}`);
  return Number(stdout);
}
