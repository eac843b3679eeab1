/** GPUs of the program's own that a space uses: their thread drives them for the manager. */
import type { Lender } from '../../drivers/webgpu/lender.js';
import type { DeviceOptions } from '../../pager/protocol/space.js';
import type { DeviceSpecification } from './device-specification.js';

/** What the manager is told of devices, and the lenders of those that this thread lent. */
export interface Lending {
  readonly options: DeviceOptions[];
  readonly lenders: Lender[];
}

/** @param options what the manager is told of devices, of each of the specifications */
export async function lend(
  specifications: readonly DeviceSpecification[],
  options: readonly DeviceOptions[],
): Promise<Lending> {
  const lenders: Lender[] = [];
  const all: DeviceOptions[] = [];
  for (const [index, specification] of specifications.entries()) {
    const device = 'device' in specification ? specification.device : undefined;
    if (device === undefined) all.push(options[index]);
    else {
      // Few programs have a GPU of their own.
      const { Lender } = await import('../../drivers/webgpu/lender.js');
      const lender = new Lender(device as GPUDevice);
      lenders.push(lender);
      all.push({ ...options[index], lent: lender.place });
    }
  }
  return { options: all, lenders };
}

/** The manager has ended the devices. */
export async function endLending(lenders: readonly Lender[]): Promise<void> {
  await Promise.all(lenders.map((lender) => lender.close()));
}
