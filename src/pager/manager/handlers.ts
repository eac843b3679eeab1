/** What is done about each request: a handler for each name, and the part that does it. */
import { PAGE_BYTES } from '../../core/basics/types.js';
import { threadRunningNs } from '../../linux/threads/thread-usage.js';
import { usedBytes } from '../arrays/shared-uses.js';
import { Control } from '../protocol/control.js';
import type { Answer, RequestMessage, RequestName } from '../protocol/messages.js';
import type { Requests } from '../protocol/requests.js';
import type { DeviceInfo } from '../protocol/space.js';
import { toWire, type WireError } from '../protocol/wire.js';
import type { Client } from './clients.js';
import type { Closing } from './closing.js';
import type { Parts } from './parts.js';

/** Returned by a handler whose answer comes later. */
const LATER = Symbol('later');

type In<K extends RequestName> = Requests[K]['in'];
type Out<K extends RequestName> = Requests[K]['out'];

export type Handlers = {
  readonly [K in RequestName]: (
    value: In<K>,
    answer: Answer<Out<K>>,
    client: Client,
  ) => Out<K> | typeof LATER;
};

/** Has the request's handler do what is asked, and answers unless the handler does so later. */
export function carryOut<K extends RequestName>(
  handlers: Handlers,
  message: RequestMessage<K>,
  answer: Answer<Out<K>>,
  client: Client,
): void {
  const result = handlers[message.name](message.value, answer, client);
  if (result !== LATER) answer(result, null);
}

/** Of a handler that has seen to the answer. */
function later(_begun: unknown): typeof LATER {
  return LATER;
}

/** Of a handler that is through and has nothing to tell. */
function done(_done: unknown): null {
  return null;
}

/** For work that only says how it failed. */
function orFailure(answer: Answer<null>): (failure: WireError | null) => void {
  return (failure) => answer(null, failure);
}

export function handlersOf(parts: Parts, closing: Closing): Handlers {
  const {
    attachments,
    devices,
    freeing,
    writeBack,
    fileTransfers,
    byteMoves,
    sharing,
    streams,
    clients,
  } = parts;
  const {
    manager,
    deferred,
    arrays,
    shared,
    advice,
    cloning,
    rights,
    pins,
    resizing,
    notifiers,
    guards,
    reports,
    overviews,
    quotas,
    recordings,
  } = parts;

  /** All clients are told of a device that has come, or has taken the place of another one. */
  const started =
    (instead: number | null, answer: Answer<DeviceInfo>) =>
    (failure: WireError | null, info: DeviceInfo | null): void => {
      if (info !== null) clients.broadcast({ device: info, instead });
      answer(info, failure);
    };

  /** Has bytes of arrays used while other machines are kept from them. */
  const whileHeld = <T>(
    operation: string,
    { offset, bytes }: { readonly offset: number; readonly bytes: number },
    writes: boolean,
    answer: Answer<T>,
    start: (answer: Answer<T>) => void,
  ): void => {
    sharing.during(
      operation,
      [usedBytes(offset, bytes, writes)],
      (end) => start((value, failure) => answer(value, end(failure))),
      (failure) => answer(null, failure),
    );
  };

  return {
    allocate: (wanted, answer, client) => {
      const made: typeof answer = (allocated, failure) => {
        if (wanted.staging === true && allocated !== null) client.staging.add(allocated.id);
        answer(allocated, failure);
      };
      return later(arrays.allocate(wanted, made, wanted.keep === true ? null : client.process));
    },
    attachArray: (handle) => done(arrays.check(handle)),
    usable: ({ range, name, verb }) => {
      arrays.usable(range, name, verb);
      return null;
    },
    clone: (wanted, answer, client) =>
      later(cloning.clone(wanted, answer, wanted.keep === true ? null : client.process)),
    resize: (wanted, answer) => later(resizing.resize(wanted, answer)),
    free: (wanted, answer) => {
      freeing.free(wanted);
      // What is done at once is done when the program goes on: a file can be shared again.
      return later(deferred.later(() => answer(null, null)));
    },
    viewed: (view, _answer, { isElsewhere }) => arrays.viewed(view, isElsewhere),
    unviewed: ({ range }) => done(arrays.countView(range, -1)),
    taken: () => null,

    protect: (wanted, answer) => later(rights.protect(wanted, orFailure(answer))),
    discard: (wanted, answer) => later(rights.discard(wanted, orFailure(answer))),
    advise: (wanted) => done(advice.advise(wanted)),
    attributes: (wanted) => advice.attributes(wanted),
    pin: (wanted, answer) => later(pins.pin(wanted, answer)),
    unpin: ({ pin }) => done(parts.endPin(pin)),
    stage: (wanted, answer) => {
      const device = devices.stagingOf(wanted.device);
      return device === null ? { memory: null } : later(parts.staged.hold(wanted, device, answer));
    },

    arrays: (_value, _answer, client) =>
      arrays.listings().filter(({ range }) => client.mayKnow(range)),
    overview: (_value, _answer, client) => overviews.overview((range) => client.mayKnow(range)),
    shareSpace: ({ rights: allowed, ranges }) => {
      closing.refuse();
      Atomics.store(parts.control, Control.OtherProcesses, 1);
      return { handle: attachments.share(allowed, ranges) };
    },
    show: () => {
      closing.refuse();
      return done(attachments.show());
    },
    nameSpace: ({ name, quotas: limits }) => {
      closing.refuse();
      Atomics.store(parts.control, Control.OtherProcesses, 1);
      attachments.listenAs(name);
      return done(quotas.set(limits));
    },
    share: (wanted) => {
      closing.refuse();
      return done(arrays.share(wanted));
    },
    sharing: ({ range, name, call }, answer) => {
      arrays.usable(range, name, call.kind === 'fence' ? 'fence' : 'wait at a barrier of');
      return later(shared.call(range, call, orFailure(answer)));
    },
    flush: (wanted, answer) =>
      later(
        writeBack.flush(wanted, (bytes, failure) =>
          answer(failure === null ? { bytes } : null, failure),
        ),
      ),
    reload: (wanted, answer) => {
      const { firstPage, count } = wanted;
      pins.check(firstPage, count, 'reload');
      return later(
        writeBack.reload(wanted, (failure) => {
          if (failure === null) parts.poison.restore(firstPage, count);
          answer(null, failure);
        }),
      );
    },
    readBytes: (wanted, answer) =>
      later(whileHeld('a read', wanted, false, answer, (held) => byteMoves.read(wanted, held))),
    writeBytes: (wanted, answer) =>
      later(whileHeld('a write', wanted, true, answer, (held) => byteMoves.write(wanted, held))),
    transferFile: (wanted, answer) => {
      const writes = wanted.direction === 'read';
      const operation = writes ? 'a transfer from a file' : 'a transfer to a file';
      return later(
        whileHeld(operation, wanted, writes, answer, (held) => fileTransfers.start(wanted, held)),
      );
    },

    residency: (wanted) => reports.residency(wanted),
    pointer: ({ offset }, _answer, client) => {
      const range = manager.pages.rangeOf(Math.floor(offset / PAGE_BYTES))?.id;
      const known = range !== undefined && client.mayKnow(range);
      return { report: known ? reports.pointer(offset) : null };
    },
    dirty: ({ firstPage, count }) => ({
      runs: manager.pages.dirty(firstPage, count).flatMap((run) => [run.first, run.count]),
    }),
    young: ({ firstPage, count, clear }) => {
      const runs = manager.pages.young(firstPage, count);
      if (clear) manager.forgetUse(firstPage, count);
      return { runs: runs.flatMap((run) => [run.first, run.count, run.processors]) };
    },
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
    stats: () => {
      notifiers.forgetEnded();
      return {
        processors: [...devices.stats(), ...attachments.stats()],
        storage: parts.stores.storageStats,
        behind: parts.stores.serverStats,
        ranges: arrays.count,
        allocatedBytes: arrays.allocatedBytes,
        notifiers: notifiers.count,
        pinnedBytes: pins.pinnedBytes,
        lockedBytes: pins.lockedBytes,
        managerMs: threadRunningNs() / 1e6,
        faultsBy: parts.host.faults.via,
      };
    },
    check: () => done(manager.checkInvariants()),
    record: ({ path, limitBytes }) => ({ id: recordings.start(path, limitBytes) }),
    unrecord: ({ id }) => recordings.stop(id),
    history: () => ({ texts: recordings.last }),
    follow: (_value, _answer, client) => ({ id: recordings.follow(client) }),
    tail: ({ id }, _answer, client) => recordings.tail(id, client),
    unfollow: ({ id }, _answer, client) => done(recordings.unfollow(id, client)),

    watch: ({ range, name, ...wishes }, answer, client) => {
      arrays.usable(range, name, 'watch');
      return later(
        notifiers.add(range, wishes, client, (sequence, failure) =>
          sequence === null ? answer(null, toWire(failure)) : answer({ sequence }, null),
        ),
      );
    },
    unwatch: ({ subscription }) => done(notifiers.remove(subscription)),
    heard: ({ subscription }) => done(notifiers.heard(subscription)),

    guard: (wanted, answer) => {
      arrays.usable(wanted.range, wanted.name, 'guard');
      return later(guards.add(wanted, orFailure(answer)));
    },
    unguard: (wanted, answer) =>
      later(
        guards.remove(wanted, (range) => {
          if (range !== null) parts.poison.restore(range.first, range.pages);
          answer(null, null);
        }),
      ),
    guardReport: (wanted) => ({ report: guards.report(wanted) }),

    enqueue: (operation, _answer, client) => done(streams.enqueue(operation, client)),
    estimate: (wanted, answer) => later(parts.estimates.start(wanted, answer)),
    cancel: (cancellation) => done(streams.cancel(cancellation)),
    called: ({ stream, sequence, error }) => done(streams.called(stream, sequence, error)),
    forgive: ({ stream }) => done(streams.forgive(stream)),
    endStream: ({ stream }) => done(streams.end(stream)),

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

    leave: (_wanted, _answer, client) => done(notifiers.forget(client)),
    close: ({ timeoutMs, closed }, answer) => later(closing.close(timeoutMs, closed, answer)),
  };
}
