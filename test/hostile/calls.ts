/** Every function and method of the API, with what it is called on and what it is handed. */
import fc from 'fast-check';
import * as api from '../../src/index.js';
import type { Value, Values } from './values.js';
import * as values from './values.js';

export interface Call {
  /** 'openSpace', or 'AddressSpace.array'. */
  readonly name: string;
  /** How often it is called, next to the others. */
  readonly weight: number;
  readonly receiver: Values | null;
  readonly args: fc.Arbitrary<readonly Value[]>;
  run(receiver: unknown, args: readonly unknown[]): unknown;
}

/** One call of a sequence. */
export interface Step {
  readonly call: Call;
  readonly receiver: Value | null;
  readonly args: readonly Value[];
  /** Whether what comes later waits until the call has ended. */
  readonly waits: boolean;
}

type Methods = Record<string | symbol, (...args: readonly unknown[]) => unknown>;

/** Arguments, of which the last may be missing, and another may be too many. */
function args(...each: Values[]): fc.Arbitrary<readonly Value[]> {
  const all = fc.tuple(...each);
  return fc.oneof(
    { weight: 12, arbitrary: all },
    { weight: 1, arbitrary: fc.tuple(all, values.junk).map(([made, more]) => [...made, more]) },
    { weight: each.length === 0 ? 0 : 2, arbitrary: all.map((made) => made.slice(0, -1)) },
  );
}

function method(
  name: string,
  receiver: Values,
  given: Values[] | fc.Arbitrary<readonly Value[]>,
  weight = 3,
): Call {
  const key = name.slice(name.indexOf('.') + 1);
  const symbol = key === '[Symbol.dispose]' ? Symbol.dispose : Symbol.asyncDispose;
  const property = key.startsWith('[') ? symbol : key;
  return {
    name,
    weight,
    receiver,
    args: Array.isArray(given) ? args(...given) : given,
    run: (object, made) => (object as Methods)[property](...made),
  };
}

function getter(name: string, receiver: Values): Call {
  const key = name.slice(name.indexOf('.') + 1);
  return {
    name,
    weight: 1,
    receiver,
    args: fc.constant([]),
    run: (object) => (object as Record<string, unknown>)[key],
  };
}

function call(name: keyof typeof api, given: Values[], weight = 3): Call {
  return {
    name,
    weight,
    receiver: null,
    args: args(...given),
    run: (_receiver, made) => (api as unknown as Methods)[name](...made),
  };
}

const space = values.from('space');
const mortalSpace = values.from('mortal space');
const prey = values.from('prey');
const fileBacked = fc.oneof(prey, values.from('shared'));
const readable = values.from('readable');
const sharedArray = values.from('shared array');
const device = values.from('device');
const mortalDevice = values.from('mortal device');
const stream = values.from('stream');
const anyStream = fc.oneof(stream, values.from('host stream'));
const notifier = values.from('notifier');
const reader = values.from('reader');
const pin = values.from('pin');
const registration = values.from('registration');
const guard = values.from('guard');
const hold = values.from('hold');
const binding = values.from('binding');
const recording = values.from('recording');
const server = values.from('server');
const events = values.from('events');
const addressView = values.from('address view');
const event = values.from('event');

const launch = fc
  .tuple(values.kernelAndArguments, values.launchOptions)
  .map(([[kernel, made], options]) => [kernel, made, options]);

const counter = values.mostly(values.from('counter'), 8);
const copy = fc
  .tuple(values.copyEnds, values.copyOptions)
  .map(([[to, from], options]) => [to, from, options]);

export const CALLS: readonly Call[] = [
  call('openSpace', [values.spaceOptions], 1),
  call('attachSpace', [values.spaceHandle]),
  call('attachArray', [values.arrayHandle]),
  call('attachNotifier', [values.notifierHandle]),
  call('kernel', [values.kernelParameters, values.kernelBody]),
  call('addressView', [values.array, values.array], 1),
  call('parseParameter', [values.parameterText], 1),
  call('struct', [values.uniformMembers], 1),
  call('arrayOf', [values.uniformType, values.length], 1),
  {
    ...call('OnememError', [values.junk, values.junk, values.junk], 1),
    run: (_receiver, [code, message, details]) => {
      const error = new api.OnememError(`${typeof code}` as 'INTERNAL', `${typeof message}`, {
        details,
      });
      return error.ranges;
    },
  },

  getter('AddressSpace.handle', space),
  getter('AddressSpace.isClosed', space),
  getter('AddressSpace.numa', space),
  method('AddressSpace.array', space, [values.arrayType, values.length, values.arrayOptions], 6),
  method('AddressSpace.bytes', space, [values.length, values.arrayOptions]),
  method('AddressSpace.fileArray', space, [values.arrayType, values.path, values.fileOptions], 6),
  method('AddressSpace.openNpy', space, [values.npyPath, values.npyOptions], 3),
  method('AddressSpace.openSafetensors', space, [values.npyPath]),
  method('AddressSpace.openGguf', space, [values.npyPath]),
  method('AddressSpace.openArrow', space, [values.npyPath]),
  method('AddressSpace.fromArrow', space, [values.junk]),
  method('AddressSpace.save', space, [values.savePath]),
  method('AddressSpace.saveNpy', space, [values.savePath, values.savedPart, values.saveOptions], 3),
  method(
    'AddressSpace.providedArray',
    space,
    [values.arrayType, values.length, values.providedOptions],
    2,
  ),
  method(
    'AddressSpace.sharedArray',
    space,
    [values.arrayType, values.length, values.sharedOptions],
    2,
  ),
  method('AddressSpace.attachArray', space, [values.arrayHandle]),
  method('AddressSpace.share', space, [values.shareOptions], 1),
  method('AddressSpace.find', space, [values.arrayName], 2),
  method('AddressSpace.wait', space, values.waiting),
  method('AddressSpace.notify', space, [counter, values.counterIndex, values.counterValue]),
  method('AddressSpace.pointerAttributes', space, [values.anyAddress]),
  method('AddressSpace.stats', space, [], 1),
  method('AddressSpace.toJSON', space, [], 1),
  method('AddressSpace.toString', space, [], 1),
  method('AddressSpace.metrics', space, [], 1),
  method('AddressSpace.collectMetrics', space, [values.metricsOptions], 1),
  method('AddressSpace.record', space, [values.recordPath, values.recordOptions], 1),
  method('AddressSpace.report', space, [], 1),
  method('AddressSpace.explain', space, [values.array, values.begin], 1),
  method('AddressSpace.serve', space, [values.serveOptions], 1),
  method('AddressSpace.events', space, [values.eventsOptions], 1),
  method('AddressSpace.checkInvariants', space, [], 1),
  method('AddressSpace.setHostMemory', space, [values.hostMemory]),
  method('AddressSpace.bindThread', space, [values.bindOptions]),
  method('AddressSpace.register', space, [values.registerable, values.registerOptions], 6),
  method('AddressSpace.addDevice', mortalSpace, [values.addedDevice], 8),
  method('AddressSpace.close', mortalSpace, [], 2),
  method('AddressSpace.[Symbol.asyncDispose]', mortalSpace, [], 1),

  getter('Device.name', device),
  getter('Device.kind', device),
  getter('Device.memory', device),
  getter('Device.units', device),
  getter('Device.pageFaults', device),
  getter('Device.pid', device),
  getter('Device.numaNode', device),
  getter('Device.capabilities', device),
  method('Device.memoryInfo', device, [], 1),
  method('Device.stream', device, [values.streamOptions]),
  method('AddressSpace.stream', space, [values.streamOptions]),
  method('Device.run', device, launch, 5),
  method('Device.estimate', device, launch, 5),
  method('Device.detach', mortalDevice, [], 2),
  method('Device.kill', mortalDevice, [], 2),
  method('Device.restart', mortalDevice, [], 1),
  method('Device.stats', device, [], 1),
  method('Device.toJSON', device, [], 1),
  method('Device.toString', device, [], 1),

  getter('ManagedArray.address', readable),
  getter('ManagedArray.isFreed', readable),
  getter('ManagedArray.data', readable),
  getter('ManagedArray.handle', readable),
  method('ManagedArray.range', readable, [values.begin, values.end]),
  method('ManagedArray.addressOf', readable, [values.begin]),
  method('ManagedArray.indexAt', readable, [values.address]),
  method('ManagedArray.residency', readable, [values.part]),
  method('ManagedArray.free', prey, [values.part], 4),
  method('ManagedArray.[Symbol.dispose]', prey, [], 2),
  method('ManagedArray.watch', readable, [values.watchOptions], 5),
  method('ManagedArray.toJSON', readable, [], 1),
  method('ManagedArray.toString', readable, [], 1),
  method('ManagedArray.hold', readable, [values.holdOptions], 4),
  method('ManagedArray.createReadStream', readable, [values.part], 1),
  method('ManagedArray.createWriteStream', prey, [values.part], 1),
  method('ManagedArray.toReadableStream', readable, [values.part], 1),
  {
    ...method('ManagedArray.asyncBuffer', readable, [values.begin, values.end], 2),
    run: (array, [begin, end]) =>
      api.ManagedArray.prototype.asyncBuffer
        .call(array as api.ManagedArray)
        .slice(begin as number, end as number),
  },
  method('ManagedArray.toBuffer', readable, [values.part], 1),
  getter('ManagedArray.length', readable),
  getter('ManagedArray.byteLength', readable),
  method('ManagedArray.resize', prey, [values.length], 6),
  method('ManagedArray.dirty', readable, [values.part]),
  method('ManagedArray.young', readable, [values.youngOptions]),
  method('ManagedArray.pin', readable, [values.pinOptions], 5),
  method('ManagedArray.advise', readable, [values.advice, values.part], 5),
  method('ManagedArray.attributes', readable, [values.part]),
  method('ManagedArray.protect', prey, [values.rights, values.pagePart], 4),
  method('ManagedArray.guard', readable, [values.guardOptions], 4),
  method('ManagedArray.discard', prey, [values.part]),
  method('ManagedArray.clone', readable, [values.arrayOptions], 4),
  {
    ...method('SharedArray.fence', sharedArray, []),
    run: (array) => api.SharedArray.prototype.fence.call(array as api.SharedArray),
  },
  {
    ...method('SharedArray.barrier', sharedArray, values.barrier),
    run: (array, made) =>
      api.SharedArray.prototype.barrier.apply(
        array as api.SharedArray,
        made as [name: string, count: number],
      ),
  },
  method('ManagedArray.flush', fileBacked, [values.flushOptions]),
  method('ManagedArray.reload', fileBacked, [values.reloadOptions]),
  method('ManagedArray.readFrom', prey, [values.fd, values.transferOptions], 5),
  method('ManagedArray.writeTo', readable, [values.fd, values.transferOptions], 5),

  method('AddressView.load', addressView, [values.wordType, values.address]),
  method('AddressView.store', addressView, [values.wordType, values.address, values.word]),

  getter('Notifier.handle', notifier),
  getter('Notifier.isClosed', notifier),
  getter('Notifier.detached', notifier),
  getter('Notifier.lost', notifier),
  method('Notifier.close', notifier, []),
  method('Notifier.[Symbol.dispose]', notifier, [], 1),
  method('SequenceReader.readBegin', reader, []),
  method('SequenceReader.readRetry', reader, [values.sequenceNumber]),

  getter('Guard.isClosed', guard),
  method('Guard.report', guard, []),
  method('Guard.close', guard, []),
  method('Guard.[Symbol.asyncDispose]', guard, [], 1),

  getter('Registration.isRegistered', registration),
  method('Registration.unregister', registration, [], 4),
  method('Registration.[Symbol.dispose]', registration, [], 1),

  method('Pin.unpin', pin, []),
  method('Pin.[Symbol.dispose]', pin, [], 1),

  getter('Recording.path', recording),
  method('Recording.stop', recording, [], 2),
  method('Recording.[Symbol.asyncDispose]', recording, [], 1),

  getter('SpaceServer.url', server),
  method('SpaceServer.close', server, [], 2),
  method('SpaceServer.[Symbol.asyncDispose]', server, [], 1),

  method('SpaceEvents.close', events, [], 2),
  method('SpaceEvents.[Symbol.asyncDispose]', events, [], 1),

  getter('ThreadBinding.cpu', binding),
  method('ThreadBinding.release', binding, [], 6),
  method('ThreadBinding.[Symbol.dispose]', binding, [], 3),
  method('Hold.release', hold, []),
  method('Hold.[Symbol.dispose]', hold, [], 1),
  method('Hold.[Symbol.asyncDispose]', hold, [], 1),

  method('Stream.launch', stream, launch, 10),
  method('Stream.exclusive', stream, [values.arrayRange], 3),
  method('HostStream.prefetch', anyStream, [values.arrayRange, values.prefetchTarget], 6),
  method('HostStream.call', anyStream, [values.callback], 4),
  method('HostStream.copy', anyStream, copy, 6),
  method('HostStream.discard', anyStream, [values.forgotten], 3),
  method('HostStream.free', anyStream, [values.doomed], 3),
  method('HostStream.wait', anyStream, [values.event], 5),
  method('HostStream.record', anyStream, []),
  method('HostStream.toJSON', anyStream, []),
  method('HostStream.toString', anyStream, []),
  method('HostStream.synchronize', anyStream, [], 4),
  method('HostStream.[Symbol.dispose]', anyStream, [], 2),

  getter('StreamEvent.done', event),
  getter('StreamEvent.result', event),
  getter('StreamEvent.error', event),
  getter('StreamEvent.elapsedMs', event),
  getter('StreamEvent.gpuMs', event),
  getter('StreamEvent.bytes', event),
  getter('StreamEvent.elements', event),
  method('StreamEvent.since', event, [values.event]),
  method('StreamEvent.synchronize', event, []),
  method('StreamEvent.toJSON', event, []),
  method('StreamEvent.toString', event, []),
];

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc
    .oneof(...CALLS.map((each) => ({ weight: each.weight, arbitrary: fc.constant(each) })))
    .chain((each) =>
      fc
        .tuple(each.receiver ?? fc.constant(null), each.args, fc.boolean())
        .map(([receiver, made, waits]) => ({ call: each, receiver, args: made, waits })),
    ),
  { minLength: 1, maxLength: 10 },
);

export function textOf({ call: { name }, receiver, args: made, waits }: Step): string {
  const shown = made.map(({ text }) => text).join(', ');
  return `${receiver === null ? '' : `(${receiver.text}) `}${name}(${shown})${waits ? '' : ' unawaited'}`;
}
