import { afterEach, describe, expect, it } from 'vitest';
import { Poller } from '../../linux/sockets/poll.js';
import { closeEventfd, createEventfd, notifyEventfd } from '../../linux/threads/eventfd.js';
import type { Device } from './device.js';
import { DevicePolls, pollerSlots } from './device-polls.js';

const fds: number[] = [];
afterEach(() => {
  for (const fd of fds.splice(0)) closeEventfd(fd);
});

function eventfd(): number {
  const fd = createEventfd();
  fds.push(fd);
  return fd;
}

/**
 * A device whose process owes answers or not; each read of its packets is counted, and finds that
 * its faults come in at `faultFd` now.
 */
function deviceThat(owesAnswers: boolean, faultFd = -1) {
  let reads = 0;
  const readPackets = (): boolean => {
    reads++;
    return faultFd !== -1;
  };
  const process = {
    owesAnswers,
    socket: { fd: eventfd() },
    pidfd: eventfd(),
    faultFd,
    readPackets,
  };
  return { device: { process } as unknown as Device, reads: () => reads };
}

describe('answers of devices between pieces that move', () => {
  it('are read of those that owe some, and of no other', () => {
    const polls = new DevicePolls(new Poller(pollerSlots(0)), 0);
    const [idle, owing] = [deviceThat(false), deviceThat(true)];
    for (const { device } of [idle, owing]) polls.add(device);
    polls.add({ process: null } as unknown as Device);
    polls.readAnswers();
    expect([idle.reads(), owing.reads()]).toEqual([0, 1]);
  });

  it('have the poller tell of faults from a descriptor that came with them', () => {
    const poller = new Poller(pollerSlots(0));
    const polls = new DevicePolls(poller, 0);
    const faultFd = eventfd();
    polls.add(deviceThat(true, faultFd).device);
    notifyEventfd(faultFd);
    polls.readAnswers();
    expect([poller.wait(0), polls.haveFaults]).toEqual([1, true]);
  });
});
