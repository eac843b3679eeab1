/** A GPU opened by Dawn's C functions: its device, its queue, and errors of calls. */

import { NativeBuffer } from '../../../../linux/base/native-buffer.js';
import { callbackAddress, textAt } from '../../../../linux/base/shared-library.js';
import { Futures, MOST_WAITED, messageOf, TEXT } from './futures.js';
import {
  AdapterInfo,
  AdapterType,
  BackendType,
  CallbackMode,
  DawnTogglesDescriptor,
  DeviceDescriptor,
  Feature,
  FeatureLevel,
  InstanceDescriptor,
  Limits,
  PowerPreference,
  RequestAdapterOptions,
  Status,
  StructureType,
} from './layouts.js';
import type { Dawn } from './library.js';
import { Arena, type Values } from './structures.js';

/**
 * Buffers whose memory is the program's: a feature that pages of the web may not have, and which a
 * GPU has with the toggle below.
 */
export const MAPS_HOST = 'host-mapped-pointer' as const;
const UNSAFE = 'allow_unsafe_apis';

/** Something that a call was refused for, or that went wrong in it. */
export interface Problem {
  readonly type: number;
  readonly message: string;
}

type LimitName = Exclude<keyof typeof Limits.offsets, 'nextInChain'>;

/** In 32 and in 64 bits: a limit that is not asked for. */
const UNDEFINED = -1;
const NO_LIMITS = Object.fromEntries(
  Object.keys(Limits.offsets)
    .filter((name) => name !== 'nextInChain')
    .map((name) => [name, UNDEFINED]),
);

export class DawnGpu {
  readonly futures: Futures;
  readonly arena = new Arena();
  readonly instance: number;
  readonly adapter: number;
  device = 0;
  queue = 0;
  private lostFuture = 0;
  private lostMessage: string | null = null;
  /** Since they were last asked for. Dawn says them within the call that they come of. */
  private problems: Problem[] = [];

  /** Finds the GPU that the system prefers. Throws where there is none. */
  constructor(readonly dawn: Dawn) {
    const { arena } = this;
    this.futures = new Futures(dawn);
    const capabilities = { timedWaitAnyEnable: 1, timedWaitAnyMaxCount: MOST_WAITED };
    this.instance = dawn.createInstance(arena.put(InstanceDescriptor, capabilities));
    if (this.instance === 0) throw new Error('the library makes no instance of Dawn');
    this.futures.instance = this.instance;
    const options = arena.put(RequestAdapterOptions, {
      nextInChain: this.toggles([UNSAFE], []),
      featureLevel: FeatureLevel.Core,
      powerPreference: PowerPreference.HighPerformance,
      backendType: BackendType.Vulkan,
    });
    const { given } = this.futures.kinds;
    const found = this.futures.now(given, (info) =>
      dawn.instanceRequestAdapter(this.instance, options, info),
    );
    this.adapter = found.given;
    arena.reset();
  }

  /**
   * Opens it. Throws why that is refused.
   * @param limits those that are asked for
   */
  open(
    limits: Values<typeof Limits.members>,
    features: readonly (keyof typeof Feature)[],
    unwantedToggles: readonly string[],
  ): void {
    const { arena, dawn, futures } = this;
    const lost = futures.listen(futures.kinds.lost, ({ message }) => {
      this.lostMessage = message || 'the driver says no more';
    });
    const error = callbackAddress(
      ['uint64_t', 'uint32_t', TEXT, 'uint64_t', 'uint64_t'],
      (_device: number, type: number, message: { data: number; length: number }) => {
        this.problems.push({ type, message: messageOf(message) });
      },
    );
    const descriptor = arena.put(DeviceDescriptor, {
      nextInChain: this.toggles([], unwantedToggles),
      requiredFeatureCount: features.length,
      requiredFeatures: arena.words(
        features.map((name) => Feature[name]),
        4,
      ),
      requiredLimits: arena.put(Limits, { ...NO_LIMITS, ...limits }),
      deviceLostCallbackInfo: {
        mode: CallbackMode.WaitAnyOnly,
        callback: futures.kinds.lost.callback,
        userdata1: lost,
      },
      uncapturedErrorCallback: error,
    });
    const { given, status, message } = futures.now(futures.kinds.given, (info) =>
      dawn.adapterRequestDevice(this.adapter, descriptor, info),
    );
    arena.reset();
    if (status !== Status.Success || given === 0)
      throw new Error(`the GPU cannot be opened: ${message}`);
    this.device = given;
    this.queue = dawn.deviceGetQueue(given);
    this.lostFuture = dawn.deviceGetLostFuture(given);
  }

  /** The address of what says which of Dawn's toggles are on, and which are off. */
  private toggles(on: readonly string[], off: readonly string[]): number {
    const { arena } = this;
    const named = (names: readonly string[]): number =>
      arena.words(
        names.map((each) => arena.text(each).address),
        8,
      );
    return arena.put(DawnTogglesDescriptor, {
      sType: StructureType.DawnTogglesDescriptor,
      enabledToggleCount: on.length,
      enabledToggles: named(on),
      disabledToggleCount: off.length,
      disabledToggles: named(off),
    });
  }

  /** What went wrong since the last time; null: nothing. The first, but for lack of memory. */
  takeProblem(): Problem | null {
    if (this.problems.length === 0) return null;
    const [first] = this.problems;
    this.problems = [];
    return first;
  }

  /** Why it is gone; null: it is there. */
  lost(): string | null {
    if (this.lostMessage === null) this.futures.look(this.lostFuture);
    return this.lostMessage;
  }

  has(feature: keyof typeof Feature): boolean {
    return this.dawn.adapterHasFeature(this.adapter, Feature[feature]) !== 0;
  }

  /** Limits of the adapter or, when it is open, of the device. */
  limits(): Record<LimitName, number> {
    const { dawn } = this;
    const area = new NativeBuffer(Limits.bytes);
    if (this.device === 0) dawn.adapterGetLimits(this.adapter, area.address);
    else dawn.deviceGetLimits(this.device, area.address);
    const found: Record<string, number> = {};
    for (const [name, kind] of Object.entries(Limits.members)) {
      const at = Limits.offsets[name as LimitName];
      found[name] = kind === 'u32' ? area.view.getUint32(at, true) : area.getU64(at);
    }
    return found as Record<LimitName, number>;
  }

  /** Of the adapter; its device is called as Vulkan calls it, too. */
  info() {
    const area = new NativeBuffer(AdapterInfo.bytes);
    this.dawn.adapterGetInfo(this.adapter, area.address);
    const text = (at: number): string => textAt(area.getU64(at), area.getU64(at + 8));
    const { vendor, architecture, device, description, adapterType } = AdapterInfo.offsets;
    return {
      vendor: text(vendor),
      architecture: text(architecture),
      device: text(device),
      description: text(description),
      /** Its memory is its own, behind a bus. */
      isDiscrete: area.view.getUint32(adapterType, true) === AdapterType.DiscreteGpu,
    };
  }
}
