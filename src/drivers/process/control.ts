/** The control thread of a device's process. It answers the manager at once, since it touches no managed memory. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { PAGE_BYTES } from '../../core/types.js';
import { MADV_DONTNEED } from '../../linux/constants.js';
import { madvise } from '../../linux/memory.js';
import { MessageSocket } from '../../linux/socket.js';
import type { DriverLaunch } from '../driver.js';
import {
  MAX_PACKET_BYTES,
  numberPacket,
  Packet,
  partition,
  readJson,
  readNumber,
  type UnitLaunch,
} from './protocol.js';

const {
  base,
  socket: fd,
  ports,
  units,
} = workerData as {
  base: number;
  socket: number;
  ports: MessagePort[];
  units: number;
};
const socket = new MessageSocket(fd, MAX_PACKET_BYTES);
parentPort?.postMessage('up');

for (;;) {
  const message = socket.receive(true);
  if (message === null) continue;
  if (message === 'closed') process.exit(0);
  const { bytes } = message;
  if (bytes[0] === Packet.Zap) {
    madvise(base + readNumber(bytes, 1) * PAGE_BYTES, readNumber(bytes, 2) * PAGE_BYTES, MADV_DONTNEED);
    socket.send(numberPacket(Packet.Zapped, readNumber(bytes, 0)), [], true);
  } else if (bytes[0] === Packet.Launch) {
    const launch = readJson<DriverLaunch>(bytes);
    for (const [unit, { begin, end }] of partition(launch.begin, launch.end, units).entries()) {
      const part: UnitLaunch = { launch, unit, units, begin, end };
      ports[unit].postMessage(part);
    }
  }
}
