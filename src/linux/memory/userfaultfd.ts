/**
 * Page faults of registered memory as messages, and the answers to them. What is called once a
 * fault returns error numbers instead of throwing and allocates nothing.
 */
import { closeSync, openSync } from 'node:fs';
import {
  EAGAIN,
  EINTR,
  EINVAL,
  O_CLOEXEC,
  O_NONBLOCK,
  UFFD_API,
  UFFD_FEATURES,
  UFFD_USER_MODE_ONLY,
  UFFDIO_API,
  UFFDIO_CONTINUE,
  UFFDIO_CONTINUE_MODE_WP,
  UFFDIO_COPY,
  UFFDIO_COPY_MODE_WP,
  UFFDIO_POISON,
  UFFDIO_REGISTER,
  UFFDIO_UNREGISTER,
  UFFDIO_WAKE,
  UFFDIO_WRITEPROTECT,
  UFFDIO_WRITEPROTECT_MODE_DONTWAKE,
  UFFDIO_WRITEPROTECT_MODE_WP,
  UFFDIO_ZEROPAGE,
  UFFDIO_ZEROPAGE_MODE_DONTWAKE,
  USERFAULTFD_IOC_NEW,
} from '../base/constants.js';
import { check, errnoName, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc, SYSTEM_CALL } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

/**
 * How a userfaultfd was obtained. By 'user-mode' the kernel's own accesses are not served: a system
 * call that touches a page which is not resident fails with EFAULT or transfers less than asked.
 */
export type Via = 'system-call' | 'device' | 'user-mode' | 'received';

export interface UserfaultfdOptions {
  /** Bits of UFFD_FEATURES that are needed. */
  readonly features?: number;
  /** Asks for the restricted kind at once. */
  readonly userModeOnly?: boolean;
  /** The ways to try, in order; all three by default. */
  readonly ways?: readonly Exclude<Via, 'received'>[];
}

const MESSAGE_BYTES = 32;
/** One read takes up to as many messages. */
const MESSAGES_PER_READ = 64;
// Offsets in the native area of one object: the argument of an ioctl, and after it the messages.
const ARGUMENT = 0;
const MESSAGES = 64;
const AREA_BYTES = MESSAGES + MESSAGES_PER_READ * MESSAGE_BYTES;

/** Opens one descriptor in one way; returns it, or the negative error number. */
function openBy(way: Exclude<Via, 'received'>): number {
  const flags = O_CLOEXEC | O_NONBLOCK;
  if (way !== 'device') {
    const extra = way === 'user-mode' ? UFFD_USER_MODE_ONLY : 0;
    const fd = libc.systemCall(SYSTEM_CALL.userfaultfd, flags | extra, 0, 0, 0, 0, 0);
    return fd < 0 ? -errno() : fd;
  }
  let device: number;
  try {
    device = openSync('/dev/userfaultfd', 'r+');
  } catch (error) {
    const number = (error as NodeJS.ErrnoException).errno;
    if (number === undefined) throw error;
    return number;
  }
  const fd = libc.ioctl(device, USERFAULTFD_IOC_NEW, flags);
  const result = fd < 0 ? -errno() : fd;
  closeSync(device);
  return result;
}

export function featureNames(bits: number): string[] {
  return Object.entries(UFFD_FEATURES)
    .filter(([, bit]) => (bits & bit) !== 0)
    .map(([name]) => name);
}

export class Userfaultfd {
  /**
   * Opens a userfaultfd that does not block: a thread in a blocking read could never be stopped,
   * and poll answers POLLERR for such a descriptor. The ways are tried from the most to the least
   * capable.
   */
  static open(options: UserfaultfdOptions = {}): Userfaultfd {
    const { features = 0, userModeOnly = false } = options;
    const ways =
      options.ways ?? (userModeOnly ? ['user-mode'] : ['system-call', 'device', 'user-mode']);
    const failures: string[] = [];
    let number = EINVAL;
    for (const way of ways) {
      const fd = openBy(way);
      if (fd < 0) {
        number = -fd;
        failures.push(`${way}: ${errnoName(number)}`);
        continue;
      }
      const result = new Userfaultfd(fd, way, new NativeBuffer(AREA_BYTES));
      try {
        result.negotiate(features);
      } catch (error) {
        result.close();
        throw error;
      }
      return result;
    }
    throw new SystemCallError('userfaultfd', { features }, number, `tried ${failures.join(', ')}`);
  }

  /** Takes a descriptor that another process negotiated, for that process's memory. */
  static fromFd(fd: number, features = 0): Userfaultfd {
    const result = new Userfaultfd(fd, 'received', new NativeBuffer(AREA_BYTES));
    result.available = features;
    return result;
  }

  /** Bytes that the last copy, zeropage, continue_ or poison got done, also when it failed. */
  progress = 0;
  /** What the kernel offers, as bits of UFFD_FEATURES. */
  available = 0;

  private constructor(
    /** For a poller; -1 once closed. */
    public fd: number,
    readonly via: Via,
    private readonly area: NativeBuffer,
  ) {}

  private negotiate(features: number): void {
    const { area } = this;
    area.setU64(ARGUMENT, UFFD_API);
    area.setU64(ARGUMENT + 8, features);
    if (libc.ioctl(this.fd, UFFDIO_API, area.address) < 0) {
      const number = errno();
      // The kernel does not say which feature it lacks: a descriptor that asks for none tells.
      const missing =
        number === EINVAL && features !== 0
          ? features & ~Userfaultfd.availableFeatures(this.via)
          : 0;
      const remark =
        missing === 0 ? undefined : `this kernel lacks ${featureNames(missing).join(', ')}`;
      throw new SystemCallError(
        'ioctl',
        { fd: this.fd, request: 'UFFDIO_API', features },
        number,
        remark,
      );
    }
    this.available = area.getU64(ARGUMENT + 8);
  }

  private static availableFeatures(via: Via): number {
    if (via === 'received') return 0;
    const probe = Userfaultfd.open({ ways: [via] });
    probe.close();
    return probe.available;
  }

  /** Registers memory; returns bits of ioctls that work (4: zeropage, 7: continue, 8: poison). */
  register(address: number, length: number, modes: number): number {
    const { area } = this;
    area.setU64(ARGUMENT, address);
    area.setU64(ARGUMENT + 8, length);
    area.setU64(ARGUMENT + 16, modes);
    check(libc.ioctl(this.fd, UFFDIO_REGISTER, area.address), 'ioctl', {
      fd: this.fd,
      request: 'UFFDIO_REGISTER',
      address,
      length,
      modes,
    });
    // The upper half holds bit 63 alone (the API request itself), which no number could hold
    // exactly.
    return area.view.getUint32(ARGUMENT + 24, true);
  }

  /** Threads that wait in the range are woken and fault again, without this descriptor. */
  unregister(address: number, length: number): void {
    check(this.onRange(UFFDIO_UNREGISTER, address, length), 'ioctl', {
      fd: this.fd,
      request: 'UFFDIO_UNREGISTER',
      address,
      length,
    });
  }

  /** Lets threads that wait in the range try again. 0 or the error number. */
  wake(address: number, length: number): number {
    return this.onRange(UFFDIO_WAKE, address, length) < 0 ? errno() : 0;
  }

  /** Fills absent pages and wakes their threads. EEXIST: one is there, `progress` bytes on. */
  copy(destination: number, source: number, length: number, writeProtect: boolean): number {
    const mode = writeProtect ? UFFDIO_COPY_MODE_WP : 0;
    return this.inSteps(UFFDIO_COPY, destination, length, mode, source);
  }

  /** Fills pages that are not there with zeros, as `copy` does; no thread is woken if `quiet`. */
  zeropage(address: number, length: number, quiet = false): number {
    return this.inSteps(
      UFFDIO_ZEROPAGE,
      address,
      length,
      quiet ? UFFDIO_ZEROPAGE_MODE_DONTWAKE : 0,
    );
  }

  /**
   * Maps pages that the file has and the page table lacks. EEXIST: one is mapped already,
   * `progress` bytes on. EFAULT: the file has no page there.
   */
  continue_(address: number, length: number, writeProtect: boolean): number {
    return this.inSteps(
      UFFDIO_CONTINUE,
      address,
      length,
      writeProtect ? UFFDIO_CONTINUE_MODE_WP : 0,
    );
  }

  /** Makes unmapped pages fail: SIGBUS, or EFAULT of a system call. MADV_DONTNEED undoes it. */
  poison(address: number, length: number): number {
    return this.inSteps(UFFDIO_POISON, address, length, 0);
  }

  /**
   * Sets or clears write protection; clearing wakes threads that wait, unless `quiet`. EAGAIN: read
   * the messages first, then ask again. Unmapped pages of a memory file can be protected, too.
   */
  writeProtect(address: number, length: number, on: boolean, quiet = false): number {
    const { area } = this;
    area.setU64(ARGUMENT, address);
    area.setU64(ARGUMENT + 8, length);
    area.setU64(
      ARGUMENT + 16,
      on ? UFFDIO_WRITEPROTECT_MODE_WP : quiet ? UFFDIO_WRITEPROTECT_MODE_DONTWAKE : 0,
    );
    return libc.ioctl(this.fd, UFFDIO_WRITEPROTECT, area.address) < 0 ? errno() : 0;
  }

  /**
   * Takes waiting messages and returns how many; they stay readable until the next call. 0 when
   * there are none. The accessors below take an index under that number.
   */
  readMessages(): number {
    const bytes = libc.read(
      this.fd,
      this.area.address + MESSAGES,
      MESSAGES_PER_READ * MESSAGE_BYTES,
    );
    if (bytes >= 0) return Math.trunc(bytes / MESSAGE_BYTES);
    const number = errno();
    if (number === EAGAIN || number === EINTR) return 0;
    throw new SystemCallError('read', { fd: this.fd }, number);
  }

  /** One of UFFD_EVENT_*. */
  eventOf(index: number): number {
    return this.area.view.getUint8(MESSAGES + index * MESSAGE_BYTES);
  }

  /** Bits of UFFD_PAGEFAULT_FLAG_*. */
  flagsOf(index: number): number {
    return this.area.view.getUint32(MESSAGES + index * MESSAGE_BYTES + 8, true);
  }

  /** The address of the fault: of its page, unless EXACT_ADDRESS was asked for. */
  addressOf(index: number): number {
    return this.area.getU64(MESSAGES + index * MESSAGE_BYTES + 16);
  }

  /** Of a fork: the descriptor that serves the child, which this process has from now on. */
  descriptorOf(index: number): number {
    return this.area.view.getUint32(MESSAGES + index * MESSAGE_BYTES + 8, true);
  }

  /** The kernel's id of the thread that faulted; 0 unless THREAD_ID was asked for. */
  threadOf(index: number): number {
    return this.area.view.getUint32(MESSAGES + index * MESSAGE_BYTES + 24, true);
  }

  /** Words 0 to 2 of another event: from, to, length of a remap; start, end of a removal. */
  wordOf(index: number, word: number): number {
    return this.area.getU64(MESSAGES + index * MESSAGE_BYTES + 8 + word * 8);
  }

  /**
   * Closes the descriptor. When it was the last one, its registrations end, and the threads that
   * wait go on as if the memory had never been registered.
   */
  close(): void {
    if (this.fd < 0) return;
    closeDescriptor(this.fd);
    // Later calls get EBADF instead of reaching whatever takes over the number.
    this.fd = -1;
  }

  private onRange(request: number, address: number, length: number): number {
    this.area.setU64(ARGUMENT, address);
    this.area.setU64(ARGUMENT + 8, length);
    return libc.ioctl(this.fd, request, this.area.address);
  }

  /**
   * The kernel reports EAGAIN with the bytes it got done whenever it stops early, whatever the
   * reason; asking for the rest gives the reason. EAGAIN without any progress means that messages
   * must be read first, and goes to the caller.
   * @param source of a copy: it stands behind the address
   */
  private inSteps(
    request: number,
    address: number,
    length: number,
    mode: number,
    source = 0,
  ): number {
    const { area } = this;
    const rest = source === 0 ? ARGUMENT + 8 : ARGUMENT + 16;
    let done = 0;
    let result = 0;
    while (done < length) {
      area.setU64(ARGUMENT, address + done);
      if (source !== 0) area.setU64(ARGUMENT + 8, source + done);
      area.setU64(rest, length - done);
      area.setU64(rest + 8, mode);
      area.setU64(rest + 16, 0);
      if (libc.ioctl(this.fd, request, area.address) >= 0) {
        done = length;
        break;
      }
      result = errno();
      const step = area.getI64(rest + 16);
      if (result !== EAGAIN || step <= 0) break;
      done += step;
      result = 0;
    }
    this.progress = done;
    return result;
  }
}
