/**
 * Opens a space with a device where something is in the way, and goes on; prints what came of it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmdirSync, unlinkSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';
import { say } from '../../integration/programs/common.js';

/** The threads of a space that are there before its devices. */
const THREADS = 2;

/** Starts children until this user may have only the threads of a space besides. */
async function fill(): Promise<ChildProcess[]> {
  const children: ChildProcess[] = [];
  for (;;) {
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    const failed = once(child, 'error');
    if (child.pid === undefined) {
      await failed;
      for (const last of children.splice(-THREADS)) {
        last.kill();
        await once(last, 'exit');
      }
      return children;
    }
    children.push(child);
  }
}

const how = process.argv[2];
if (how === 'replaced') unlinkSync(process.execPath);
if (how === 'folder') rmdirSync(process.cwd());
const children = how === 'full' ? await fill() : [];
try {
  const space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const { length } = space.devices;
  await space.close();
  say(`opened with ${length}`);
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  say(`${code}: ${message}`);
}
for (const child of children) child.kill();
say('goes on');
