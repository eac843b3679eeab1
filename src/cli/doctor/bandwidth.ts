/** `onemem bandwidth`: how fast bytes go between the host and devices of each kind. */
import { type Kind, plainKinds, rulesOf } from '../../api/options/described-devices.js';
import { probeGpu } from '../../api/options/gpu-probe.js';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { type AddressSpace, type DeviceSpecification, openSpace } from '../../index.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { formatBytes, formatRate } from '../terminal/format.js';
import { sizeInBytes, wholeNumber } from '../terminal/options.js';
import { print } from '../terminal/output.js';
import { MeasuredCopies, type MeasuredCopy, rateOf } from './measured-copies.js';

const KINDS = plainKinds();

const USUAL_BYTES = 64 * 2 ** 20;
const USUAL_PASSES = 5;
/** Arrays that there are at a time, and one more for what moves meanwhile. */
const DEVICE_ARRAYS = 3;
const HOST_ARRAYS = 6;
/** The host has this besides its arrays. */
const HOST_REST = 64 * 2 ** 20;

interface MeasuredDevice {
  readonly kind: Kind;
  /** Null: there is no such device. */
  readonly name: string | null;
  readonly copies: readonly MeasuredCopy[];
  /** Why nothing was measured. */
  readonly problem: string | null;
}

export const command = defineCommand({
  name: 'bandwidth',
  usage: '[OPTIONS]',
  summary: 'measure how fast bytes go between the host and devices',
  text: `It copies from the host to a device of each kind that there is, back, and to a second one, and checks
what arrives. Each rate is a median, with the time that a program waits for it.

  pageable        a typed array of the program's own
  pinned          a managed array that is pinned to host memory
  mapped          a kernel that uses host memory in place (accessedBy); its own work is part of it
  write-combined  a word of each page, written by the CPU, which goes to the device with the others
  managed         pages that move, by prefetch
  device          from one device to another one

Where a device has no such way, the line says so; device.capabilities tells programs.

  --device KIND,...  ${KINDS.join(', ')} (all that there are)
  --size SIZE        bytes of a copy (64MiB)
  --passes N         copies of which the median is told (${USUAL_PASSES})
  --json             one object
  -h, --help

Examples
  onemem bandwidth
  onemem bandwidth --device process --size 16MiB
  onemem bandwidth --json | jq '.devices[].copies[] | select(.memory == "pinned")'`,
  options: {
    device: { type: 'string' },
    size: { type: 'string' },
    passes: { type: 'string' },
    json: { type: 'boolean' },
  },
  async main(values) {
    const kinds = kindsOf(values.device);
    const least = { bytes: BLOCK_BYTES, why: 'the size of a block' };
    const size = sizeInBytes('size', values.size, least) ?? USUAL_BYTES;
    const bytes = Math.floor(size / BLOCK_BYTES) * BLOCK_BYTES;
    const passes = wholeNumber('passes', values.passes) ?? USUAL_PASSES;
    const memcpyBytesPerSecond = memcpyRate(bytes, passes);
    if (!values.json)
      print(`${formatBytes(bytes)} each; memcpy in the host ${rateText(memcpyBytesPerSecond)}`);
    const devices: MeasuredDevice[] = [];
    for (const kind of kinds) {
      const measured = await measuredOf(kind, bytes, passes);
      devices.push(measured);
      if (!values.json) print(`\n${linesOf(measured).join('\n')}`);
    }
    if (values.json) print(JSON.stringify({ bytes, passes, memcpyBytesPerSecond, devices }));
    return 0;
  },
});

function kindsOf(text: string | undefined): readonly Kind[] {
  if (text === undefined) return KINDS;
  return text.split(',').map((name) => {
    const kind = KINDS.find((each) => each === name);
    if (kind !== undefined) return kind;
    throw new UsageError(`--device is '${name}'; there are ${KINDS.join(', ')}`);
  });
}

async function measuredOf(kind: Kind, bytes: number, passes: number): Promise<MeasuredDevice> {
  if (isGpu(kind)) {
    const found = await probeGpu();
    if ('problem' in found) return { kind, name: null, copies: [], problem: found.problem };
  }
  await using space = await openFor(kind, bytes);
  const [device, other = null] = space.devices;
  const copies = await new MeasuredCopies(space, device, other, bytes, passes).all();
  return { kind, name: device.name, copies, problem: null };
}

function isGpu(kind: Kind): boolean {
  return rulesOf(kind).kernels === 'wgsl';
}

/** A GPU may have no room for two devices. */
async function openFor(kind: Kind, bytes: number): Promise<AddressSpace> {
  const memory = DEVICE_ARRAYS * bytes + BLOCK_BYTES;
  const open = (count: number): Promise<AddressSpace> =>
    openSpace({
      hostMemory: HOST_ARRAYS * bytes + HOST_REST,
      storage: false,
      devices: Array<DeviceSpecification>(count).fill({ kind, memory } as DeviceSpecification),
    });
  if (!isGpu(kind)) return await open(2);
  return await open(2).catch(() => open(1));
}

/** What the host does by itself. */
function memcpyRate(bytes: number, passes: number): number {
  const from = new Uint8Array(bytes).fill(1);
  const to = new Uint8Array(bytes);
  const times: number[] = [];
  for (let pass = 0; pass <= passes; pass++) {
    const began = performance.now();
    to.set(from);
    // The first one gets memory.
    if (pass > 0) times.push(performance.now() - began);
  }
  return rateOf(bytes, times);
}

function linesOf({ kind, name, copies, problem }: MeasuredDevice): string[] {
  if (problem !== null) return [`${kind}: none here (${problem})`];
  const rows = copies.map(({ memory, direction, bytesPerSecond, missing }) => [
    memory,
    direction,
    bytesPerSecond === null ? `no: ${missing}` : rateText(bytesPerSecond),
  ]);
  return [`${kind} ${name}`, ...alignColumns(rows, 3).map((line) => `  ${line}`)];
}

function rateText(bytesPerSecond: number): string {
  return formatRate(bytesPerSecond, 1000);
}
