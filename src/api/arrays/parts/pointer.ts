/** What an address is: of which array, where, whose. */

import type { DeviceInternals, SpaceInternals } from '../../line/internals.js';
import type { Device, PointerAttributes } from '../../public.js';
import { show } from '../../values/arguments.js';
import { typeError } from '../../values/errors.js';
import { reportPage } from '../../values/residency.js';

export function pointerAttributes(
  space: SpaceInternals<DeviceInternals & Device>,
  address: bigint,
): PointerAttributes | null {
  if (typeof address !== 'bigint') {
    throw typeError(
      'ADDRESS',
      `an address is a bigint, such as array.address + 8n, not ${show(address)}`,
    );
  }
  const { base, bytes } = space.client.handle;
  const offset = Number(address - BigInt(base));
  space.client.assertOpen('cannot look at an address');
  if (offset < 0 || offset >= bytes) return null;
  const { report } = space.client.call('pointer', { offset });
  if (report === null) return null;
  const { name: array, element, byteOffset, page } = report;
  const known = reportPage(page, space.placeNames().nodes);
  const devices = space.devices.filter(({ isUsable }) => isUsable);
  const owner = known.nodes.includes('host')
    ? 'host'
    : (devices.find(({ name }) => known.nodes.includes(name)) ?? null);
  const deviceAddresses = Object.fromEntries(
    devices.map(({ name, sameAddresses }) => [name, sameAddresses ? address : null]),
  );
  return { array, element, byteOffset, ...known, owner, deviceAddresses };
}
