/** What an address is: of which array, where, whose. */
import type { AddressSpace } from './address-space.js';
import { show } from './arguments.js';
import type { Device } from './device.js';
import { typeError } from './errors.js';
import { type ResidencyRun, reportPage } from './residency.js';

export interface PointerAttributes {
  /** Name of the array. */
  readonly array: string;
  /** Index of the element that the address lies in, and bytes from the beginning of the array. */
  readonly element: number;
  readonly byteOffset: number;
  /** Of the page: as `residency()` says it. */
  readonly state: ResidencyRun['state'];
  readonly nodes: readonly string[];
  readonly access: Readonly<Record<string, 'read' | 'write'>>;
  /** It stays in the host's memory until it is unpinned. */
  readonly pinned: boolean;
  /** Who has the content: the only node that does, or the host where it is one of several. Null when nobody has. */
  readonly owner: Device | 'host' | null;
  /** Where the page is for each device, by its name: at the same address, or null on a device whose memory has an order of its own. */
  readonly deviceAddresses: Readonly<Record<string, bigint | null>>;
}

export function pointerAttributes(space: AddressSpace, address: bigint): PointerAttributes | null {
  if (typeof address !== 'bigint') {
    throw typeError('ADDRESS', `an address is a bigint, such as array.address + 8n, not ${show(address)}`);
  }
  const { base, bytes } = space.client.handle;
  const offset = Number(address - BigInt(base));
  space.client.assertOpen('cannot look at an address');
  if (offset < 0 || offset >= bytes) return null;
  const { report } = space.client.call('pointer', { offset });
  if (report === null) return null;
  const { name: array, element, byteOffset, page } = report;
  const known = reportPage(page, space.placeNames());
  const devices = space.devices.filter(({ isUsable }) => isUsable);
  const owner = known.nodes.includes('host')
    ? 'host'
    : (devices.find(({ name }) => known.nodes.includes(name)) ?? null);
  const deviceAddresses = Object.fromEntries(
    devices.map(({ name, sameAddresses }) => [name, sameAddresses ? address : null]),
  );
  return { array, element, byteOffset, ...known, owner, deviceAddresses };
}
