/**
 * Scenarios of the kernel's tests of heterogeneous memory in which a second process has a part, with
 * the child as a process that attached. The others of the list need one process, and are played by
 * `onemem/testing` on all kinds of devices.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type AddressSpace, type DeviceSpecification, openSpace } from '../../src/index.js';
import { type Agent, attachedAgent } from './agents.js';
import { Folder } from './command.js';
import { sameData, variantTest } from './suite.js';

const LENGTH = 2 ** 19;

interface Scene {
  readonly space: AddressSpace;
  /** An array of fives, which the child finds as 'x'. */
  readonly x: Int32Array;
  readonly child: Agent;
  /** What has a child launch a kernel for the device, which adds one. */
  readonly launch: 'launch' | 'launchOnGpu';
}

/** The tests of one kind of device. */
export function processScenarios(kind: string, device: DeviceSpecification): void {
  const launch = device.kind === 'webgpu' ? 'launchOnGpu' : 'launch';
  const scenario = (name: string, play: (scene: Scene) => Promise<void>): void =>
    variantTest(`${name}, on a ${kind} device`, async () => {
      await using space = await openSpace({ hostMemory: '64MiB', devices: [device] });
      const x = space.array(Int32Array, LENGTH, { name: 'x' });
      x.data.fill(5);
      await using child = await attachedAgent(space.share());
      await play({ space, x: x.data, child, launch });
      space.checkInvariants();
    });

  scenario(
    'anon_write_child: a child has a clone, and writes its own',
    async ({ x, child, launch }) => {
      await child.do('clone', 'x', 'own');
      await child.do(launch, 'own');
      await child.do('add', 'own', 0, LENGTH);
      assert.equal(await child.do('sum', 'own'), 7 * LENGTH);
      sameData(x, () => 5);
    },
  );

  scenario('anon_write_child_shared: a child has a device write', async ({ x, child, launch }) => {
    await child.do(launch, 'x');
    sameData(x, () => 6);
    await child.do('add', 'x', 0, LENGTH);
    await child.do(launch, 'x');
    sameData(x, () => 8);
  });

  scenario(
    'migrate_shared: two children and a device take turns',
    async ({ space, x, child, launch }) => {
      await using other = await attachedAgent(space.share());
      for (let round = 0; round < 3; round++) {
        await child.do(launch, 'x');
        await other.do('add', 'x', 0, LENGTH);
        assert.equal(await child.do('sum', 'x'), (7 + 2 * round) * LENGTH);
      }
      sameData(x, () => 11);
    },
  );

  scenario(
    'cow_in_device: a clone keeps what a device then writes',
    async ({ space, x, child, launch }) => {
      await child.do(launch, 'x');
      await child.do('clone', 'x', 'before');
      await child.do(launch, 'x');
      sameData(space.find<Int32Array>('before')?.data ?? [], () => 6);
      assert.equal(await child.do('sum', 'before'), 6 * LENGTH);
      sameData(x, () => 7);
    },
  );

  scenario(
    'exclusive_cow: a child clones what a device has alone',
    async ({ space, x, child, launch }) => {
      await space.devices[0].stream().exclusive(x).synchronize();
      await child.do('clone', 'x', 'before');
      await child.do(launch, 'x');
      await child.do('add', 'x', 0, LENGTH);
      assert.equal(await child.do('sum', 'before'), 5 * LENGTH);
      sameData(x, () => 7);
    },
  );

  scenario('file_write: a child has a device write a file', async ({ space, child, launch }) => {
    using folder = new Folder();
    const path = folder.file('data');
    const file = space.fileArray(Int32Array, path, { create: LENGTH, name: 'file' });
    await child.do('fill', 'file', 0, LENGTH, 3);
    await child.do(launch, 'file');
    await file.flush();
    sameData(new Int32Array(new Uint8Array(readFileSync(path)).buffer), () => 4);
  });
}
