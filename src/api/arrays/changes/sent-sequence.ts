/** The number of a notifier in a process that attached: a file that the owner maps, too. */
import { closeDescriptor } from '../../../linux/base/libc.js';
import { createWordFile } from '../../../linux/memory/shared-word.js';
import { Sequence } from '../../../pager/protocol/sequence.js';

/** Has `use` send the file of a number to the owner, and gives the number of this process. */
export async function sentSequence(
  isLost: () => boolean,
  use: (fd: number) => Promise<unknown>,
): Promise<Sequence> {
  const fd = createWordFile();
  let sequence: Sequence | null = null;
  try {
    sequence = Sequence.inFile(fd, isLost);
    await use(fd);
    return sequence;
  } catch (error) {
    sequence?.close();
    throw error;
  } finally {
    closeDescriptor(fd);
  }
}
