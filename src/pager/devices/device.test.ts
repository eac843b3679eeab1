import { beforeEach, describe, expect, it } from 'vitest';
import { type Device, DeviceEvents } from './device.js';

type Parts = ConstructorParameters<typeof DeviceEvents>;

describe('where threads of a device run', () => {
  const manager = { fault: () => undefined, bringsAhead: false, waitsToGoAhead: true };
  const router = { busy: false };
  let heard: string[];
  let events: DeviceEvents;

  beforeEach(() => {
    manager.bringsAhead = false;
    router.busy = false;
    heard = [];
    events = new DeviceEvents(
      manager as unknown as Parts[0],
      router as unknown as Parts[1],
      null as unknown as Parts[2],
    );
    events.placements = [
      {
        before: (thread) => heard.push(`before ${thread}`),
        after: (moving) => heard.push(`after ${moving}`),
        end: () => heard.push('end'),
      },
    ];
    events.device = { info: { id: 1 } } as Device;
  });

  it('does not hang on what plans may want', () => {
    events.fault(7, false, 42);
    expect(heard).toEqual(['before 42', 'after false']);
  });

  it('hangs on blocks that come ahead', () => {
    manager.bringsAhead = true;
    events.fault(7, false, 42);
    expect(heard).toEqual(['before 42', 'after true']);
  });

  it('hangs on pages that are left to be moved', () => {
    router.busy = true;
    events.fault(7, false, 42);
    expect(heard).toEqual(['before 42', 'after true']);
  });
});
