/** `onemem replay TRACE --machine ...`: what a recorded run would cost on other links. */
import { bytesOf, leastMs, type Machine, type Transfers, transferMs } from '../../sim/machine.js';
import { recordedTraffic, type Traffic } from '../../sim/recorded-traffic.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { CommandError } from '../terminal/failure.js';
import { csvField, formatBytes, formatCount, formatDuration } from '../terminal/format.js';
import { print } from '../terminal/output.js';
import { readHistory } from './recorded-history.js';

interface Times {
  readonly machine: string;
  readonly transferMs: number;
  /** Transfers, and then the rest of the launches. */
  readonly launchMs: number;
  /** What must be moved, or the rest of the launches, whichever takes longer. */
  readonly leastMs: number;
}

interface Row {
  readonly memory: string;
  readonly bytesIn: number;
  readonly transfersIn: number;
  readonly bytesOut: number;
  readonly transfersOut: number;
  /** Bytes that had to come at least once. */
  readonly neededBytes: number;
  readonly launches: number;
  /** As it was recorded. */
  readonly launchMs: number;
  readonly restMs: number;
  readonly machines: readonly Times[];
}

export interface Form {
  readonly csv?: boolean;
  readonly json?: boolean;
}

export async function timesOn(
  path: string,
  machines: readonly Machine[],
  { csv, json }: Form,
): Promise<number> {
  const rows = recordedTraffic(await readHistory(path)).map((traffic) => rowOf(traffic, machines));
  if (rows.length === 0)
    throw new CommandError(
      'NO_TRACE',
      `${path}: nothing was moved to a device's memory, or to storage`,
    );
  if (json) print(JSON.stringify(rows));
  else if (csv) printCsv(rows);
  else printTables(rows);
  return 0;
}

function rowOf(traffic: Traffic, machines: readonly Machine[]): Row {
  const { memory, speed, inwards, outwards, againBytes, launches, launchMs, restMs } = traffic;
  const bytesIn = bytesOf(inwards);
  const bytesOut = bytesOf(outwards);
  const neededBytes = bytesIn - againBytes;
  // What came again may have been sent home before, for want of room.
  const neededOut = Math.max(0, bytesOut - againBytes);
  return {
    memory,
    bytesIn,
    transfersIn: countOf(inwards),
    bytesOut,
    transfersOut: countOf(outwards),
    neededBytes,
    launches,
    launchMs,
    restMs,
    machines: [...machines, ...described(speed)].map((machine) => {
      const moving = transferMs(machine, inwards, outwards);
      return {
        machine: machine.name,
        transferMs: moving,
        launchMs: moving + restMs,
        leastMs: Math.max(leastMs(machine, neededBytes, neededOut), restMs),
      };
    }),
  };
}

/** The link of slow memory, as the program described it. */
function described(speed: Traffic['speed']): Machine[] {
  if (speed === undefined) return [];
  const GBs = speed.bytesPerUs / 1e3;
  const link = { inGBs: GBs, outGBs: GBs, duplex: 'full', granularityBytes: 64 } as const;
  return [{ name: 'described', what: '', source: '', latencyUs: speed.latencyUs, ...link }];
}

function countOf(transfers: Transfers): number {
  return [...transfers.values()].reduce((sum, count) => sum + count, 0);
}

function printCsv(rows: readonly Row[]): void {
  print('memory,machine,bytes_in,bytes_out,needed_bytes,transfer_ms,launch_ms,least_ms');
  for (const { memory, bytesIn, bytesOut, neededBytes, machines, ...row } of rows) {
    const recorded = { machine: 'recorded', transferMs: row.launchMs - row.restMs };
    for (const each of [{ ...row, ...recorded, leastMs: Number.NaN }, ...machines]) {
      const times = [each.transferMs, each.launchMs, each.leastMs].map((ms) =>
        Number.isNaN(ms) ? '' : ms.toFixed(3),
      );
      print([csvField(memory), each.machine, bytesIn, bytesOut, neededBytes, ...times].join());
    }
  }
}

function printTables(rows: readonly Row[]): void {
  for (const row of rows) {
    const inwards = `${formatBytes(row.bytesIn)} in by ${transfers(row.transfersIn)}`;
    const outwards = `${formatBytes(row.bytesOut)} out by ${transfers(row.transfersOut)}`;
    print(`${row.memory}: ${inwards}, ${outwards}; ${formatBytes(row.neededBytes)} had to come`);
    const recorded = ['recorded', row.launchMs - row.restMs, row.launchMs] as const;
    const lines = row.machines.map((each) => [
      each.machine,
      formatDuration(each.transferMs),
      formatDuration(each.launchMs),
      formatDuration(each.leastMs),
    ]);
    const table = [
      ['machine', 'transfers', launches(row.launches), 'at least'],
      [recorded[0], formatDuration(recorded[1]), formatDuration(recorded[2]), ''],
      ...lines,
    ];
    for (const line of alignColumns(table)) print(`  ${line}`);
  }
  print(
    "\nLaunches: the transfers, and then the rest of the launches' recorded time: kernels and fault handling." +
      '\nAt least: what had to come by one transfer, or that rest, whichever takes longer.',
  );
}

function transfers(count: number): string {
  return count === 1 ? '1 transfer' : `${formatCount(count)} transfers`;
}

function launches(count: number): string {
  return count === 1 ? '1 launch' : `${formatCount(count)} launches`;
}
