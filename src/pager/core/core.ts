/** The core with the router: commands go to drivers, completions come back as events. */

import { PAGE_BYTES, PAGES_PER_BLOCK, type Status } from '../../core/basics/types.js';
import { MemoryManager } from '../../core/memory-manager.js';
import { Recorder } from '../../core/recording/recording.js';
import type { Policies } from '../../core/table/processors.js';
import { type Notices, type ProviderPort, Router } from '../../drivers/router.js';
import { RecordingFile, type RecordingHeader } from '../../files/recording-file.js';
import { evictionName } from '../../policy/choices.js';
import type { ManagerOptions } from '../protocol/space.js';
import { RequestError } from '../protocol/wire.js';
import { MoveRecords } from './move-records.js';
import { StagingMemory } from './staging.js';

export interface Core {
  readonly manager: MemoryManager;
  readonly router: Router;
  /** Where the run is written down, if it is. */
  readonly recording: RecordingFile | null;
  /** Records of moves, which a program starts and stops. */
  readonly moveRecords: MoveRecords;
  /** Memory that pages go over from one store to the next. */
  readonly staging: StagingMemory;
}

type RecordedOptions = Pick<ManagerOptions, 'name' | 'bytes' | 'record' | 'history' | 'policies'>;

export function openCore(
  { name, bytes, record, history, policies: choices = {} }: RecordedOptions,
  policies: Policies,
  notices: Notices,
  sources: ProviderPort,
  warn: (message: string) => void,
): Core {
  const blocks = Math.floor(bytes / (PAGE_BYTES * PAGES_PER_BLOCK));
  const recording =
    record === undefined ? null : recordIn(record, { blocks, policies: choices }, warn);
  const recorder = recording === null ? null : new Recorder((entries) => recording.write(entries));
  const staging = new StagingMemory();
  const transferred = (token: number, status: Status): void => manager.transferred(token, status);
  const router: Router = new Router(notices, sources, transferred, PAGE_BYTES, staging, () =>
    performance.now(),
  );
  const commands = recorder?.commands(router) ?? router;
  const manager = new MemoryManager(commands, policies, blocks);
  recorder?.events(manager);
  const rule = evictionName(choices);
  const moveRecords = new MoveRecords(manager, commands, name, rule, history ?? null, warn);
  return { manager, router, recording, moveRecords, staging };
}

/** A run that cannot be written down is refused; one that fails later goes on without. */
function recordIn(
  path: string,
  header: Omit<RecordingHeader, 'onememRecording'>,
  warn: (message: string) => void,
): RecordingFile {
  try {
    return new RecordingFile(path, header, ({ message }) =>
      warn(
        `warning: the recording in ${path} (ONEMEM_RECORD) ends here, and the program goes on: ${message}`,
      ),
    );
  } catch (error) {
    const message = `cannot record in ${path} (ONEMEM_RECORD): ${(error as Error).message}`;
    const remedy =
      'name a file in a folder that is there, where this program may write and the disk has room, or unset the variable';
    throw new RequestError('RECORDING', `${message}; ${remedy}`, { path });
  }
}
