/**
 * Reads and writes that the kernel carries out while this thread goes on: requests and answers lie
 * in two rings that both sides map, and an eventfd is raised with each answer. See io_uring(7).
 * Containers often forbid it.
 */
import {
  EAGAIN,
  IORING_CQ_EVENTFD_DISABLED,
  IORING_FEAT_SINGLE_MMAP,
  IORING_OFF_SQES,
  IORING_OP_READ,
  IORING_OP_WRITE,
  IORING_REGISTER_EVENTFD,
  MAP_POPULATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../base/constants.js';
import { closeDescriptor, errno, libc, rawView, SYSTEM_CALL } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';
import { mmap, munmap } from '../memory/memory.js';

/** Bytes of struct io_uring_params, and of the offsets of ring fields in it. */
const PARAMETER_BYTES = 120;
const FEATURES = 20;
const REQUESTS = 40;
const ANSWERS = 80;
const REQUEST_WORDS = 16;
const ANSWER_WORDS = 4;
const TWO_TO_32 = 0x1_0000_0000;

export class IoUring {
  /** The words of both rings, and of the requests. */
  private readonly words: Int32Array;
  private readonly requests: Int32Array;
  // Places of words, and masks.
  private readonly requestTail: number;
  private readonly requestList: number;
  private readonly requestMask: number;
  private readonly answerHead: number;
  private readonly answerTail: number;
  private readonly answerList: number;
  private readonly answerFlags: number;
  private readonly answerMask: number;

  private constructor(
    private readonly fd: number,
    /** Requests that fit in at once. */
    readonly entries: number,
    private readonly rings: { readonly address: number; readonly bytes: number },
    private readonly list: { readonly address: number; readonly bytes: number },
    parameters: DataView,
  ) {
    this.words = new Int32Array(rawView(rings.address, rings.bytes));
    this.requests = new Int32Array(rawView(list.address, list.bytes));
    const word = (at: number): number => parameters.getUint32(at, true) / 4;
    this.requestTail = word(REQUESTS + 4);
    this.requestMask = this.words[word(REQUESTS + 8)];
    this.requestList = word(REQUESTS + 24);
    this.answerHead = word(ANSWERS);
    this.answerTail = word(ANSWERS + 4);
    this.answerMask = this.words[word(ANSWERS + 8)];
    this.answerList = word(ANSWERS + 20);
    this.answerFlags = word(ANSWERS + 24);
  }

  /**
   * @param entries requests that are under way at once, at most; a power of two
   * @param eventfd raised with each answer
   * @returns null where the system has no such rings, or does not let this process have one
   */
  static open(entries: number, eventfd: number): IoUring | null {
    const native = new NativeBuffer(PARAMETER_BYTES + 8);
    const { view, address } = native;
    const fd = libc.systemCall(SYSTEM_CALL.ioUringSetup, entries, address, 0, 0, 0, 0);
    if (fd < 0) return null;
    view.setInt32(PARAMETER_BYTES, eventfd, true);
    const at = address + PARAMETER_BYTES;
    const raised =
      libc.systemCall(SYSTEM_CALL.ioUringRegister, fd, IORING_REGISTER_EVENTFD, at, 1, 0, 0) === 0;
    // Kernels before 5.4 map the two rings apart.
    const usable = raised && (view.getUint32(FEATURES, true) & IORING_FEAT_SINGLE_MMAP) !== 0;
    const map = (bytes: number, offset: number): { address: number; bytes: number } => {
      const options = {
        protection: PROT_READ | PROT_WRITE,
        flags: MAP_SHARED | MAP_POPULATE,
        fd,
        offset,
      };
      return { address: mmap(bytes, options), bytes };
    };
    try {
      if (!usable) throw new Error('no such rings');
      const requestBytes = view.getUint32(REQUESTS + 24, true) + view.getUint32(0, true) * 4;
      const answerBytes =
        view.getUint32(ANSWERS + 20, true) + view.getUint32(4, true) * ANSWER_WORDS * 4;
      const rings = map(Math.max(requestBytes, answerBytes), 0);
      try {
        const list = map(view.getUint32(0, true) * REQUEST_WORDS * 4, IORING_OFF_SQES);
        return new IoUring(fd, view.getUint32(0, true), rings, list, view);
      } catch (error) {
        munmap(rings.address, rings.bytes);
        throw error;
      }
    } catch {
      closeDescriptor(fd);
      return null;
    }
  }

  /** Hands a read into memory to the kernel. 0, or the error number without an answer. */
  read(fd: number, address: number, length: number, offset: number, token: number): number {
    return this.request(IORING_OP_READ, fd, address, length, offset, token);
  }

  write(fd: number, address: number, length: number, offset: number, token: number): number {
    return this.request(IORING_OP_WRITE, fd, address, length, offset, token);
  }

  /** Whether an answer has come: a look at memory, without a system call. */
  get hasAnswers(): boolean {
    return this.words[this.answerHead] !== Atomics.load(this.words, this.answerTail);
  }

  /** Whether the eventfd is raised. `hasAnswers` alone tells of what came while it was not. */
  raises(on: boolean): void {
    Atomics.store(this.words, this.answerFlags, on ? 0 : IORING_CQ_EVENTFD_DISABLED);
  }

  /** Calls for each answer: the token, and the bytes moved or the negative error number. */
  answers(each: (token: number, result: number) => void): void {
    const { words, answerHead, answerList, answerMask } = this;
    let head = words[answerHead];
    while (head !== Atomics.load(words, this.answerTail)) {
      const at = answerList + (head & answerMask) * ANSWER_WORDS;
      const token = words[at];
      const result = words[at + 2];
      head = (head + 1) | 0;
      Atomics.store(words, answerHead, head);
      each(token, result);
    }
  }

  /** Nothing is under way any more. */
  close(): void {
    munmap(this.list.address, this.list.bytes);
    munmap(this.rings.address, this.rings.bytes);
    closeDescriptor(this.fd);
  }

  private request(
    operation: number,
    fd: number,
    address: number,
    length: number,
    offset: number,
    token: number,
  ): number {
    const { words, requests, requestTail } = this;
    const tail = words[requestTail];
    const place = tail & this.requestMask;
    const at = place * REQUEST_WORDS;
    requests.fill(0, at, at + REQUEST_WORDS);
    requests[at] = operation;
    requests[at + 1] = fd;
    requests[at + 2] = offset | 0;
    requests[at + 3] = Math.floor(offset / TWO_TO_32);
    requests[at + 4] = address | 0;
    requests[at + 5] = Math.floor(address / TWO_TO_32);
    requests[at + 6] = length;
    requests[at + 8] = token;
    words[this.requestList + place] = place;
    Atomics.store(words, requestTail, (tail + 1) | 0);
    const taken = libc.systemCall(SYSTEM_CALL.ioUringEnter, this.fd, 1, 0, 0, 0, 0);
    if (taken === 1) return 0;
    const number = taken < 0 ? errno() : EAGAIN;
    // The next one takes its place.
    Atomics.store(words, requestTail, tail);
    return number;
  }
}
