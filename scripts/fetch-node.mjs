// Versions of Node.js, as npm packages in node_modules/.cache; they are no dependencies of the
// project.
//
//   node scripts/fetch-node.mjs 22      prints the path of its program

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The program of a version, fetched if it is not there yet. */
export function fetchNode(version) {
  const name = `node-linux-${process.arch}`;
  const folder = join(root, 'node_modules/.cache/node-versions', version);
  const program = join(folder, 'node_modules', name, 'bin/node');
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
    const { status, stderr } = spawnSync(
      'npm',
      [
        'install',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '--prefer-offline',
        '--silent',
        `${name}@${version}`,
      ],
      { cwd: folder, encoding: 'utf8', timeout: 120_000 },
    );
    if (status !== 0 || !existsSync(program))
      throw new Error(`npm could not install ${name}@${version}\n${stderr}`);
  }
  const { status, stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} does not run here: ${stderr}`);
  return { program, version: stdout.trim() };
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log(fetchNode(process.argv[2]).program);
