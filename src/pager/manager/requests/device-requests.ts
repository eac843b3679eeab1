/** Requests about devices, host memory and the CPUs of threads. */
import type { Answer } from '../../protocol/messages.js';
import type { DeviceInfo } from '../../protocol/space.js';
import type { WireError } from '../../protocol/wire.js';
import type { Closing } from '../closing.js';
import type { Parts } from '../parts.js';
import { done, type Handlers, LATER, later, orFailure } from './handling.js';

export function deviceRequests(parts: Parts, closing: Closing) {
  const { devices, clients } = parts;

  /** All clients are told of a device that has come, or has taken the place of another one. */
  const started =
    (instead: number | null, answer: Answer<DeviceInfo>) =>
    (failure: WireError | null, info: DeviceInfo | null): void => {
      if (info !== null) clients.broadcast({ device: info, instead });
      answer(info, failure);
    };
  return {
    devices: () => devices.infos,
    addDevice: ({ options }, answer) => {
      closing.refuse();
      return later(devices.addDevice(options, started(null, answer)));
    },
    restart: ({ device }, answer) => {
      closing.refuse();
      return later(devices.restart(device, started(device, answer)));
    },
    detach: ({ device }, answer) => later(devices.detach(device, () => answer(null, null))),
    kill: ({ device }) => done(devices.byNumber(device)?.end()),
    setHostMemory: ({ bytes }, answer) => {
      parts.hostBudget.set(bytes, orFailure(answer));
      parts.follower.stop();
      return LATER;
    },
    bindThread: (wanted, _answer, { thread }) => {
      parts.nearDisk.end();
      return parts.bindings.bind(thread, wanted);
    },
    releaseThread: (_wanted, _answer, { thread }) => done(parts.bindings.release(thread)),
  } satisfies Partial<Handlers>;
}
