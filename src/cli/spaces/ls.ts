/** `onemem ls`: spaces of this user, their arrays, and the processes that use them. */

import {
  allSpaces,
  type ListedProcess,
  type ListedSpace,
  type SpaceListing,
  spaceBy,
} from '../../api/objects/listing.js';
import { readHandle } from '../../pager/protocol/attaching.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { formatBytes, formatCount, plain } from '../terminal/format.js';
import { print } from '../terminal/output.js';

export const command = defineCommand({
  name: 'ls',
  usage: '[HANDLE] [OPTIONS]',
  summary: 'list spaces of this user: processes, arrays, bytes in each memory',
  text: `A space is listed if its program called share() or serve(), or runs with ONEMEM_OBSERVABLE=1. With
HANDLE, the text that share() gives, only the arrays that it allows are listed. The columns are
bytes in each memory. Pages that several memories hold count in each. Page tables are those of the
whole process.

  --json      one object for programs
  -h, --help

Examples
  onemem ls
  onemem ls --json | jq '.spaces[].arrays[] | select(.bytes > 1e9).name'`,
  options: { json: { type: 'boolean' } },
  atMostOne: 'handle',
  main(values, [handle]) {
    const parts = handle === undefined ? null : readHandle(handle);
    if (handle !== undefined && parts === null)
      throw new UsageError(`'${handle}' is no handle; pass what space.share() gives, as it is`);
    const listing = parts === null ? allSpaces() : { spaces: [spaceBy(parts)], failures: [] };
    if (values.json) print(JSON.stringify(listing));
    else print(tableOf(listing));
    if (!values.json)
      for (const { message } of listing.failures) console.error(`onemem: ${message}`);
    return listing.failures.length === 0 ? 0 : 1;
  },
});

function tableOf({ spaces }: SpaceListing): string {
  if (spaces.length === 0) return 'No space of this user is shared with other processes.';
  return spaces.map(linesOf).join('\n\n');
}

function linesOf({ name: ofSpace, owner, memories, processes, arrays }: ListedSpace): string {
  const used = memories.map(
    ({ name, usedBytes, budgetBytes }) =>
      `${name} ${formatBytes(usedBytes)} of ${formatBytes(budgetBytes)}`,
  );
  const rows = [
    ['array', 'type', 'length', 'bytes', ...memories.map(({ name }) => name)],
    ...arrays.map(({ name, type, length, bytes, heldBytes }) => [
      plain(name),
      type ?? '',
      formatCount(length),
      formatBytes(bytes),
      ...memories.map((memory) => formatBytes(heldBytes[memory.name] ?? 0)),
    ]),
  ];
  return [
    `Space ${ofSpace === null ? '' : `${ofSpace} `}of process ${shownProcess(owner)}`,
    `  ${used.join(', ')}`,
    ...processes.map(
      (each) =>
        `  used by process ${shownProcess(each)}, ${each.threads} thread${each.threads === 1 ? '' : 's'}`,
    ),
    ...(arrays.length === 0 ? ['  no arrays'] : alignColumns(rows, 2).map((row) => `  ${row}`)),
  ].join('\n');
}

function shownProcess({ pid, command, pageTableBytes }: ListedProcess): string {
  const shown = plain(command.length > 60 ? `${command.slice(0, 57)}...` : command);
  return `${pid} (${shown}), page tables ${formatBytes(pageTableBytes)}`;
}
