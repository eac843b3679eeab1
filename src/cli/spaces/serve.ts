/** `onemem serve`: keeps a space that outlives the programs that use it. */

import { addressesFor, basesFor, basesInUse } from '../../api/line/space-addresses.js';
import { checkSpaceName, type NamedSpaceAnswer, nameSpace } from '../../api/opening/named-space.js';
import { openSpace } from '../../api/opening/open-space.js';
import { plainKinds } from '../../api/options/described-devices.js';
import type { DeviceSpecification } from '../../api/options/device-specification.js';
import type { Command } from '../terminal/command.js';
import { CommandError, codeOf, explain, UsageError } from '../terminal/failure.js';
import { hostMemoryFrom, slowMemoryFrom, storageFrom } from '../terminal/memory-options.js';
import { assignments, parseOptions, sizeInBytes } from '../terminal/options.js';
import { print } from '../terminal/output.js';

const SERVE_SUMMARY = 'keep a space for programs that come and go';

const SERVE_HELP = `onemem serve --name NAME [OPTIONS]: ${SERVE_SUMMARY}

Programs of this user reach the space by openSpace({ at: 'NAME' }). Arrays that they make with
keep: true wait there for the next program. SIGTERM, SIGINT and 'onemem rm NAME' end the space.

  --name NAME                 1 to 64 letters, digits, '.', '_', '-'
  --host-memory SIZE          memory of arrays in the host (what is left, at most 70% of the limit),
                              or auto
  --slow-memory NAME=VALUE,...
                              memory between host memory and storage: path or node, bytes,
                              latencyUs, bandwidth
  --storage FOLDER[:SIZE]     where arrays go that are larger; none: they are refused
  --device KIND[:MEMORY]      a device for all programs: process, simulated or webgpu; repeatable
  --from FILE                 a file of space.save(), whose arrays the space begins with
  --quota NAME=SIZE           the most bytes of arrays NAME and NAME/...; repeatable
  -h, --help

Examples
  onemem serve --name jobs --host-memory 8GiB --storage /var/tmp
  onemem serve --name jobs --device process:256MiB --quota alice=2GiB --quota bob=2GiB`;

const SERVE_OPTIONS = {
  name: { type: 'string' },
  'host-memory': { type: 'string' },
  'slow-memory': { type: 'string' },
  storage: { type: 'string' },
  device: { type: 'string', multiple: true },
  from: { type: 'string' },
  quota: { type: 'string', multiple: true },
} as const;

/** Kept spaces lie at so many places. */
const PLACES = 14;
/** How long launches may run on when the space is to end. */
const CLOSE_MS = 2000;
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

export async function serve(args: readonly string[]): Promise<number> {
  try {
    return await keep(args);
  } catch (error) {
    tellStarter({ error: { code: codeOf(error), message: explain(error) } });
    throw error;
  }
}

async function keep(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions('serve', args, SERVE_OPTIONS);
  if (positionals.length > 0)
    throw new UsageError(`onemem serve takes options alone (${positionals.join(' ')})`);
  if (values.name === undefined) throw new UsageError('onemem serve needs --name NAME');
  const name = nameFrom(values.name);
  const hostMemory = hostMemoryFrom(values['host-memory']);
  const slowMemory = slowMemoryFrom(values['slow-memory']);
  const storage = storageFrom(values.storage);
  const devices = (values.device ?? []).map(deviceFrom);
  const quotas = [...assignments('quota', values.quota, 'SIZE')].map(([prefix, size]) => ({
    name: prefix,
    bytes: sizeInBytes('quota', size, { bytes: 1 }) as number,
  }));
  const ended = signalled();
  const bases = basesFor(addressesFor(undefined, devices.length));
  await using space = await openSpace({
    hostMemory,
    ...(slowMemory === undefined ? {} : { slowMemory }),
    storage,
    devices,
    ...(values.from === undefined ? {} : { from: values.from }),
    firstPlace: placeOf(name, process.pid, basesInUse(bases)),
  });
  try {
    await nameSpace(space, name, quotas);
  } catch (error) {
    throw new CommandError(codeOf(error), explain(error), { cause: error });
  }
  tellStarter({ ready: true });
  print(`Space ${name} is kept by process ${process.pid}: openSpace({ at: '${name}' }).`);
  // Nothing else keeps the event loop going.
  const alive = setInterval(() => undefined, 2 ** 30);
  await ended;
  clearInterval(alive);
  await space.close({ timeoutMs: CLOSE_MS });
  return 0;
}

function nameFrom(said: string): string {
  try {
    return checkSpaceName(said);
  } catch (error) {
    throw new UsageError(`--name: ${(error as Error).message}`);
  }
}

function deviceFrom(said: string): DeviceSpecification {
  const [, kind = said, memory] = /^(\w+):(.+)$/.exec(said) ?? [];
  const kinds = plainKinds();
  const known = kinds.find((each) => each === kind);
  if (known === undefined)
    throw new UsageError(
      `--device is '${said}'; write KIND or KIND:MEMORY, of ${kinds.join(', ')}`,
    );
  return { kind: known, ...(memory === undefined ? {} : { memory }) } as DeviceSpecification;
}

/**
 * Spaces lie at several places, so that one program may attach to those of several names, and to one
 * that was started again, while its views of the old one stay.
 *
 * @param used places that processes have in use
 */
export function placeOf(name: string, pid: number, used: ReadonlySet<number>): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
  // The first place is that of a program's own first space.
  const places = Array.from({ length: PLACES }, (_, step) => 1 + ((sum + pid + step) % PLACES));
  return places.find((place) => !used.has(place)) ?? places[0];
}

/** Resolves with the first signal that is to end the space. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, () => resolve());
  });
}

/** A program that wants to attach has started this command. */
function tellStarter(answer: NamedSpaceAnswer): void {
  if (process.send === undefined || !process.connected) return;
  process.send(answer, () => {
    if (process.connected) process.disconnect();
  });
}

export const command: Command = { summary: SERVE_SUMMARY, help: SERVE_HELP, main: serve };
