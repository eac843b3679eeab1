/** Idle CPUs of virtual machines: one that halts at once takes tens of microseconds to wake. */
import { textReader } from './base/text-files.js';
import type { Feature } from './features.js';

/** The longest pause between faults of a thread on a disk, in ns; the kernel's default. */
const WANTED_NS = 200_000;
/** Below this a CPU has halted before the page of a fast disk comes. */
const SHORT_NS = 50_000;

/** How long an idle CPU polls before it halts, in nanoseconds. Null: the kernel has no say. */
function pollNs(root: string): number | null {
  const read = textReader(root);
  const governor = read('/sys/devices/system/cpu/cpuidle/current_governor')?.trim();
  const ns = read('/sys/module/haltpoll/parameters/guest_halt_poll_ns');
  return governor === 'haltpoll' && ns !== null ? Number(ns) : null;
}

/** Whether threads that wait for each other are woken soon. Null: it cannot be told. */
export function idleFeature(root = ''): Feature | null {
  const ns = pollNs(root);
  if (ns === null) return null;
  const available = ns >= SHORT_NS;
  return {
    name: 'CPUs that are woken soon',
    available,
    required: false,
    detail: available
      ? `an idle CPU of this virtual machine looks around for ${ns / 1000} us before it halts`
      : 'an idle CPU of this virtual machine halts at once, and takes tens of microseconds to wake: so do faults between two CPUs',
    remedy: available
      ? null
      : `as root: echo ${WANTED_NS} > /sys/module/haltpoll/parameters/guest_halt_poll_ns (or haltpoll.guest_halt_poll_ns=${WANTED_NS} on the kernel's command line), for up to ${WANTED_NS / 1000} us of a CPU each time it is idle; or space.bindThread()`,
  };
}
