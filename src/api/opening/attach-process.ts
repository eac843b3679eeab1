/** Attaching to a space of another process, from the handle that `space.share()` gives. */

import {
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  POLLIN,
  PROT_READ,
  PROT_WRITE,
  SOCK_STREAM,
} from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../../linux/memory/managed-mapping.js';
import { mmap, munmap } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { attachedWatchFile } from '../../linux/own-files.js';
import { connectLocally } from '../../linux/sockets/local-socket.js';
import { Poller } from '../../linux/sockets/poll.js';
import { createSocketPair, MessageSocket } from '../../linux/sockets/socket.js';
import { startThread } from '../../linux/threads/threads.js';
import { ownerEndedLater, ownerHungUp, ownerNotFound } from '../../messages/owner-ended.js';
import {
  ATTACH_VERSION,
  type AttachedWatchData,
  type AttachHello,
  type AttachMapped,
  type AttachOffer,
  type AttachRefusal,
  type AttachWelcome,
  type HandleParts,
  NUMBERS_PER_CLIENT,
  socketName,
} from '../../pager/protocol/attaching.js';
import { CONTROL_WORDS, Control, SpaceState } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import { guardThreads } from '../endings/exit.js';
import { AddressSpace as SpaceClass } from '../objects/address-space.js';
import { fromWire, OnememError } from '../values/errors.js';
import { ProcessLine } from './process-line.js';
import { warnOfUserMode } from './user-mode.js';

/** How long the owner may take to answer. */
const ANSWER_MS = 10_000;
/** For requests, and for the end of the owner. */
const STREAMS = 2;

/** Sockets of owners whose end a thread of this thread's watches for. */
const watches = new Set<string>();

function watch(workerData: AttachedWatchData): void {
  guardThreads();
  startThread(attachedWatchFile(), { execArgv: [], workerData, name: 'onemem attached' }).unref();
}

export function attachProcess(
  text: string,
  { owner, socket, token }: HandleParts,
  onClosed: () => void,
): SpaceClass {
  const meeting = new MessageSocket(connect(owner, socket));
  let faults = -1;
  let offer: AttachOffer | null = null;
  const ours: number[] = [];
  const theirs: number[] = [];
  try {
    const hello: AttachHello = { onemem: ATTACH_VERSION, token, codec: 'v8' };
    say(meeting, hello, [], owner);
    const answer = receive<AttachOffer>(meeting, owner);
    offer = answer.message;
    const [memory] = answer.fds;
    if (memory === undefined)
      throw new OnememError('DESCRIPTORS', 'cannot attach: no descriptor is left; raise ulimit -n');
    try {
      if (offer.mapped === null) faults = mapSpace(offer, memory);
    } finally {
      closeDescriptor(memory);
    }
    const watched = watches.has(socket);
    for (let pair = watched ? 1 : 0; pair < STREAMS; pair++) {
      const [here, there] = createSocketPair(SOCK_STREAM);
      ours.push(here);
      theirs.push(there);
    }
    const mapped: AttachMapped = { faults: offer.mapped ?? faults, watched };
    say(meeting, mapped, faults === -1 ? theirs : [...theirs, faults], owner);
    for (const fd of theirs.splice(0)) closeDescriptor(fd);
    const { message: welcome } = receive<AttachWelcome>(meeting, owner);
    meeting.close();
    const [stream, life] = ours;
    const served = offer.mapped ?? faults;
    // The owner serves what is mapped from here on, whatever becomes of this call.
    faults = -1;
    if (!watched) {
      watch({ life, faults: served, base: offer.base, bytes: offer.bytes, owner });
      watches.add(socket);
      ours.pop();
    }
    return open(text, owner, offer, welcome, stream, onClosed);
  } catch (error) {
    for (const fd of [...ours, ...theirs]) closeDescriptor(fd);
    meeting.close();
    if (faults !== -1 && offer !== null) {
      closeDescriptor(faults);
      munmap(offer.base, offer.bytes);
    }
    throw error;
  }
}

function connect(owner: number, socket: string): number {
  const connected = connectLocally(socketName(socket));
  if ('fd' in connected) return connected.fd;
  throw new OnememError('OWNER_LOST', ownerNotFound(owner));
}

/** Maps the memory where it is everywhere. Returns the userfaultfd for its faults. */
function mapSpace({ base, bytes, userModeOnly, writes }: AttachOffer, memory: number): number {
  const faults = Userfaultfd.open({ features: FAULT_FEATURES, userModeOnly });
  try {
    mmap(bytes, {
      address: base,
      protection: PROT_READ | PROT_WRITE,
      flags: (writes ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
      fd: memory,
    });
  } catch (error) {
    faults.close();
    if (!(error instanceof SystemCallError) || error.code !== 'EEXIST') throw error;
    throw new OnememError(
      'ADDRESS_SPACE',
      `cannot attach: this process has its addresses 0x${base.toString(16)} in use, where the space lies; ` +
        'attach before you open a space of your own; of two that other processes keep at one place, start one again',
    );
  }
  try {
    settleMapping(base, bytes);
    faults.register(base, bytes, FAULT_MODES);
  } catch (error) {
    faults.close();
    munmap(base, bytes);
    throw error;
  }
  warnOfUserMode(faults.via);
  return faults.fd;
}

function open(
  text: string,
  owner: number,
  offer: AttachOffer,
  welcome: AttachWelcome,
  stream: number,
  onClosed: () => void,
): SpaceClass {
  const control = new SharedArrayBuffer(CONTROL_WORDS * 4);
  const words = new Int32Array(control);
  const first = welcome.client * NUMBERS_PER_CLIENT;
  for (const numbers of [Control.Streams, Control.Pins, Control.Notifiers]) words[numbers] = first;
  words[Control.State] = SpaceState.Running;
  words[Control.OtherProcesses] = 1;
  const handle: SpaceHandle = {
    onemem: 1,
    name: `${offer.name} ${welcome.client}`,
    base: offer.base,
    bytes: offer.bytes,
    owner: process.pid,
    wakeFd: -1,
    control,
    // The client asks for those that there are.
    devices: [],
    stores: welcome.stores,
    hostBudgetBytes: welcome.hostBudgetBytes,
    attachedBy: text,
  };
  return new SpaceClass(
    handle,
    null,
    onClosed,
    [],
    (listener, lost) =>
      new ProcessLine(stream, welcome.client, listener, () => {
        Atomics.store(words, Control.State, SpaceState.Closed);
        lost(new OnememError('OWNER_LOST', ownerEndedLater(owner)));
      }),
  );
}

function say(socket: MessageSocket, message: object, fds: readonly number[], owner: number): void {
  try {
    socket.send(Buffer.from(JSON.stringify(message)), fds, true);
  } catch (error) {
    if (error instanceof SystemCallError && error.code === 'EPIPE') throw refusedBy(owner);
    throw error;
  }
}

function receive<T>(socket: MessageSocket, owner: number): { message: T; fds: readonly number[] } {
  const poller = new Poller(1);
  poller.set(0, socket.fd, POLLIN);
  if (poller.wait(ANSWER_MS) === 0)
    throw new OnememError(
      'OWNER_BUSY',
      `cannot attach: process ${owner} did not answer within ${ANSWER_MS / 1000} s`,
    );
  const received = socket.receive(true);
  if (received === null || received === 'closed') throw refusedBy(owner);
  const message = JSON.parse(Buffer.from(received.bytes).toString()) as T | AttachRefusal;
  if (typeof message === 'object' && message !== null && 'refused' in message)
    throw fromWire(message.refused);
  return { message: message as T, fds: received.fds ?? [] };
}

function refusedBy(owner: number): OnememError {
  return new OnememError('OWNER_LOST', ownerHungUp(owner));
}
