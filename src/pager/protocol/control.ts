/** Words of memory that all threads of a space share. */

/** Words of the control memory that all threads of a space share. */
export const Control = {
  /** Raised by the manager each time that it goes round its loop. */
  Heartbeat: 0,
  /** One of SpaceState. */
  State: 1,
  /** Threads that attached besides the one that opened the space. */
  AttachedThreads: 2,
  /** Set to make the manager end at once, since the process does. */
  Stop: 3,
  /** Numbers of streams that have been given. */
  Streams: 4,
  /** Views of the space's arrays in all threads. */
  Views: 5,
  /** Set by the closer of the descriptor that wakes the manager, when all is closed. */
  WakeFdClosed: 6,
  /** Threads that attached and found no place in the list of threads. */
  UnlistedThreads: 7,
  /** What tells the space's handle from one that was changed, in so many words. */
  Digest: 8,
  /** Numbers of notifiers that have been given. */
  Notifiers: 12,
  /** The kernel's id of the manager's thread, which cannot ask itself for anything. */
  ManagerThread: 13,
  /** Numbers of pins that have been given. */
  Pins: 14,
  /** Of the views those whose memory has been taken, so that they count for good. */
  TakenViews: 15,
  /** Bit 0 has system calls fail that a test named, the rest counts those that did. */
  FailingCalls: 16,
  /** Messages for standard error, and of these the ones that have been written or dropped. */
  MessagesSaid: 17,
  MessagesWritten: 18,
  /** Set where a worker thread opened the space, whose end takes the manager along. */
  OpenedByWorker: 19,
  /** Set while the manager looks once more before it sleeps: clients need not wake it. */
  Awake: 20,
  /** Raised by clients with each message. */
  Asked: 21,
  /** Threads of the manager that start: stopped while they load the FFI they end the process. */
  StartingThreads: 22,
  /** Set when the manager's thread has nothing left to do. */
  Ended: 23,
  /** Set once other processes may be attached, whose threads sleep and wake by the page. */
  OtherProcesses: 24,
  /** From here on: kernel ids of attached threads, some of which may have ended. */
  Threads: 25,
} as const;

/** A space serves faults of 64 listed threads at once; more may attach. */
export const LISTED_THREADS = 64;

export const DIGEST_WORDS = 4;

export const CONTROL_WORDS = Control.Threads + LISTED_THREADS;

export const SpaceState = { Starting: 0, Running: 1, Closed: 2 } as const;
