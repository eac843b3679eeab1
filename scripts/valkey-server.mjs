// A Valkey or Redis server for tests and benches: the one that is installed, or Debian's
// redis-server in node_modules/.cache. It is no dependency of the project.
//
//   node scripts/valkey-server.mjs         prints as JSON: { server, benchmark, libraries }, paths of the programs and of their libraries

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { debianFiles, libraryFolder } from './debian-packages.mjs';

/**
 * redis-tools has the programs, of which the server is one by another name. The others are what a
 * bare Debian lacks of libraries.
 */
const PACKAGES = ['redis-server', 'redis-tools', 'libatomic1', 'libjemalloc2', 'liblzf1'];

function installed(program) {
  const { stdout } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' });
  return stdout.trim();
}

function valkeyServer() {
  for (const name of ['valkey', 'redis']) {
    const server = installed(`${name}-server`);
    if (server !== '')
      return { server, benchmark: installed(`${name}-benchmark`) || null, libraries: '' };
  }
  const folder = debianFiles('valkey-server', PACKAGES);
  const programs = join(folder, 'usr/bin');
  return {
    server: join(programs, 'redis-server'),
    benchmark: join(programs, 'redis-benchmark'),
    libraries: libraryFolder(folder, 'libjemalloc.so.2'),
  };
}

console.log(JSON.stringify(valkeyServer()));
