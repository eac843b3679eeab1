import { beforeEach, describe, expect, it } from 'vitest';
import { HOST, MAX_PROCESSORS, NO_NODE } from '../../core/basics/types.js';
import { deviceOf, hostOf } from '../../core/test-parts.js';
import type { Driver } from '../../drivers/driver.js';
import { namedPolicies } from '../../policy/choices.js';
import { openCore } from '../core/core.js';
import { CoreRequests } from '../core/core-requests.js';
import { type CoreListener, Deferred } from '../core/deferred.js';
import { Sources } from '../core/sources.js';
import type { DeviceInfo, DeviceOptions } from '../protocol/space.js';
import { Devices } from './devices.js';

type Parts = ConstructorParameters<typeof Devices>;

/** Devices that do nothing, but come and go. */
function openDevices() {
  const deferred = new Deferred(new CoreRequests());
  const warn = (): void => undefined;
  const options = { name: 'space', bytes: 2 ** 24 };
  const core = openCore(options, namedPolicies({}), deferred, new Sources(), warn);
  core.manager.addDevice(hostOf(4), NO_NODE);
  const nothing = (): void => undefined;
  const maker = {
    mustLoad: () => false,
    make: ({ name }: DeviceOptions) => {
      const driver = { kind: 'none', description: deviceOf(2, { name }), close: nothing };
      return { driver, process: null, checked: null };
    },
  };
  const launches = { lost: nothing, endAll: nothing };
  const devices = new Devices(
    { ...core, later: deferred.later, warn } as unknown as Parts[0],
    launches as unknown as Parts[1],
    { forgetProcessor: nothing } as unknown as Parts[2],
    maker as unknown as Parts[3],
    { add: nothing, remove: nothing } as unknown as Parts[4],
    null as unknown as Parts[5],
    null as unknown as Parts[6],
  );
  const listener: Partial<CoreListener> = {
    drained: (id) => {
      devices.drained(id);
      core.manager.endHeard(id);
    },
  };
  const handleDeferred = (): void => deferred.handleAll(listener as CoreListener);
  return { devices, handleDeferred, launches, router: core.router };
}

function called(name: string): DeviceOptions {
  return { kind: 'none', name, memoryBytes: 0, units: 1 } as unknown as DeviceOptions;
}

describe('a device that comes while others go', () => {
  let world: ReturnType<typeof openDevices>;

  beforeEach(() => {
    world = openDevices();
    world.devices.open([called('one'), called('two')], () => undefined);
    world.handleDeferred();
  });

  /** A device that has come, and is there for the program and for the core. */
  function expectThere(info: DeviceInfo | null): void {
    if (info === null) throw new Error('the device was not started');
    const { devices, router } = world;
    expect(devices.byNumber(info.number)?.info).toBe(info);
    const driver: Driver | undefined = devices.get(info.id)?.driver;
    expect(router.node(info.node)).toBe(driver);
  }

  function die(name: string): void {
    const { devices } = world;
    const info = devices.infos.find((each) => each.name === name);
    const device = devices.get(info?.id ?? HOST);
    if (device !== undefined) devices.died(device, 'it was killed');
  }

  it('keeps its place though it is added before the end of another one was heard', () => {
    let come: DeviceInfo | null = null;
    die('one');
    world.devices.addDevice(called('three'), (_failure, info) => {
      come = info;
    });
    world.handleDeferred();
    expectThere(come);
  });

  it('keeps its place though it is started again before the end of another one was heard', () => {
    let come: DeviceInfo | null = null;
    world.devices.restart(2, (_failure, info) => {
      come = info;
    });
    die('two');
    die('one');
    world.handleDeferred();
    expectThere(come);
  });

  it('keeps its place though it is added while the end of another one is told', () => {
    let come: DeviceInfo | null = null;
    world.launches.endAll = () =>
      world.devices.addDevice(called('three'), (_failure, info) => {
        come = info;
      });
    die('one');
    world.handleDeferred();
    expectThere(come);
  });

  it('gets the last place, where it is started again', () => {
    for (let at = 3; at < MAX_PROCESSORS; at++)
      world.devices.addDevice(called(`device ${at}`), () => undefined);
    let come: DeviceInfo | null = null;
    world.devices.restart(2, (_failure, info) => {
      come = info;
    });
    die('two');
    world.handleDeferred();
    expectThere(come);
  });
});
