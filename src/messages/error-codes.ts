/**
 * The codes of all errors, each with what it means and what is left. The compiler holds the source
 * to them; `npm run api:update` writes the table of docs/reference/errors.md from the comments.
 */
export type OnememErrorCode =
  /** A running launch was ended by its signal. Its written arrays are indeterminate. */
  | 'ABORTED'
  /** A launch, copy or call exceeds the array's rights. The pages are as before. */
  | 'ACCESS_DENIED'
  /** The provider refused the page. Everything else stays. */
  | 'ACCESS_REFUSED'
  /** An address is no bigint, or lies in no array of the view. */
  | 'ADDRESS'
  /** No addresses are left, or `addressSpace` is larger than a limit allows. */
  | 'ADDRESS_SPACE'
  /** A value does not fit the type that an address view writes. */
  | 'ADDRESS_VALUE'
  /** `advise` was given advice that does not exist, or a device of another space. */
  | 'ADVICE'
  /** The call takes a managed array, or a part of one. */
  | 'ARRAY'
  /** `array.data` cannot be replaced; `set()` writes into it. */
  | 'ARRAY_DATA'
  /** `attachArray` was given no handle of an array, or a changed one. */
  | 'ARRAY_HANDLE'
  /** An index is outside the array, or was used on the array in place of `array.data`. */
  | 'ARRAY_INDEX'
  /** An operation that has not ended uses the array. Nothing is changed. */
  | 'ARRAY_IN_USE'
  /** A length of an array is no whole number that is possible. */
  | 'ARRAY_LENGTH'
  /** `begin` and `end` name no part of the array. */
  | 'ARRAY_RANGE'
  /** The type is no typed array that a space can hold, or the file holds another one. */
  | 'ARRAY_TYPE'
  /** The file is no Arrow file, or a column of a table cannot become an array. */
  | 'ARROW'
  /** A barrier is for an impossible number of programs, or others wait for another number. */
  | 'BARRIER'
  /** The other programs did not come to the barrier in time. */
  | 'BARRIER_TIMEOUT'
  /** `behind` is no usable Valkey server; `details.reason` says why. */
  | 'BEHIND'
  /** `blockBytes` of a shared array is not possible. */
  | 'BLOCK_BYTES'
  /** A bundler left out files of the package that threads start from. */
  | 'BUNDLED'
  /** `stream.call` was given no function. */
  | 'CALLBACK'
  /** A function of `stream.call` threw; see `cause`. */
  | 'CALLBACK_ERROR'
  /** An earlier operation failed, or the signal was aborted. The operation has not begun. */
  | 'CANCELLED'
  /** Objects of this class are made by a call, and not by `new`. */
  | 'CONSTRUCTOR'
  /** The bytes of a page could not be copied, after several attempts. */
  | 'COPY_FAILED'
  /** Source and destination of a copy have different numbers of bytes. */
  | 'COPY_LENGTH'
  /** A copy takes managed arrays, parts of them, and typed arrays. */
  | 'COPY_PLACE'
  /** Source and destination of a copy have different element types. */
  | 'COPY_TYPE'
  /** `count` of a wake is no whole number. */
  | 'COUNT'
  /** There is no such CPU, or the process may not use it. */
  | 'CPU'
  /** `create` goes with an option that contradicts it. The file is as before. */
  | 'CREATE'
  /** The only copy was on a lost device or server, or came back changed. Everything else stays. */
  | 'DATA_LOST'
  /** A thread waits for itself. A part of the launch may be written. */
  | 'DEADLOCK'
  /** No file descriptors are left; `details.limit` is the limit. */
  | 'DESCRIPTORS'
  /** A place is neither a device of the space nor `'host'`. */
  | 'DEVICE'
  /** `devices` is no list of devices, or there are too many. */
  | 'DEVICES'
  /** The device was detached. */
  | 'DEVICE_DETACHED'
  /** There is no such kind of device. */
  | 'DEVICE_KIND'
  /** A launch exceeds a limit of the GPU. The launch has not begun. */
  | 'DEVICE_LIMIT'
  /** The device ended. Pages with another copy stay. */
  | 'DEVICE_LOST'
  /** A launch needs more memory than the device has, or how much it has is not known. */
  | 'DEVICE_MEMORY'
  /** The name of a device is taken, or is that of another place. */
  | 'DEVICE_NAME'
  /** The device did not start; the message says why. The program goes on. */
  | 'DEVICE_START'
  /** A custom device names no usable module and export. */
  | 'DRIVER_MODULE'
  /** The options of a driver cannot be sent to its thread. */
  | 'DRIVER_OPTIONS'
  /** The elements cannot be saved as this NumPy type, since nothing is converted. */
  | 'DTYPE'
  /** The file has no elements. */
  | 'EMPTY_FILE'
  /** The call takes an event of a stream. */
  | 'EVENT'
  /** Elements of a mapped file would not begin at a multiple of their size. */
  | 'FILE_ALIGNMENT'
  /**
   * The file became shorter, cannot be read any more, or a page of a saved space is damaged.
   * Everything else stays.
   */
  | 'FILE_CHANGED'
  /** The file descriptor is none. */
  | 'FILE_DESCRIPTOR'
  /** Reading or writing a file failed; `details.errno` and `details.bytes` say how. */
  | 'FILE_IO'
  /** The path names no regular file. */
  | 'FILE_KIND'
  /** Another shared array has the file. */
  | 'FILE_LOCKED'
  /** The file cannot be mapped; leave out `mapped`. */
  | 'FILE_NOT_MAPPED'
  /** The file cannot be opened for writing, or replaced. */
  | 'FILE_NOT_WRITABLE'
  /** The file belongs to another user or group, which a new file cannot be given. */
  | 'FILE_OWNER'
  /** A file is named by a path or a `file:` URL. */
  | 'FILE_PATH'
  /** `position` is no place in a file. */
  | 'FILE_POSITION'
  /** The file has fewer bytes than the array would have. */
  | 'FILE_TOO_SHORT'
  /** Changed pages cannot be written to their file. All is in memory; the space stays open. */
  | 'FLUSH_FAILED'
  /** The array belongs to another space. */
  | 'FOREIGN_ARRAY'
  /** The device belongs to another space. */
  | 'FOREIGN_DEVICE'
  /** The event belongs to another space. */
  | 'FOREIGN_EVENT'
  /** The lent object is no usable `GPUDevice`. */
  | 'GPU_DEVICE'
  /** The array has a guard already. */
  | 'GUARDED'
  /** The guard has ended: closed, or gone with its array. */
  | 'GUARD_CLOSED'
  /** `data` of a guard cannot be cloned for the manager. */
  | 'GUARD_DATA'
  /** The module of a guard cannot be loaded, or exports no such function. */
  | 'GUARD_MODULE'
  /** The file to replace has other names (hard links), which would keep the old content. */
  | 'HARD_LINKS'
  /** No room is left in `hostMemory` and storage, or too much is pinned. Nothing is changed. */
  | 'HOST_BUDGET'
  /** A fault of onemem itself. Please report it. */
  | 'INTERNAL'
  /** A function of the driver's toolkit was given an impossible argument. */
  | 'INVALID_ARGUMENT'
  /** A driver used a frame that it does not have. */
  | 'INVALID_FRAME'
  /** The device reaches the pages in place and cannot have them in its own memory. */
  | 'IN_PLACE'
  /** A launch takes a kernel that `kernel()` made. */
  | 'KERNEL'
  /** An argument of a launch does not fit its parameter. */
  | 'KERNEL_ARGUMENT'
  /** What was handed to `kernel()` is neither a function nor a module. */
  | 'KERNEL_BODY'
  /** A kernel uses variables from outside of its function. */
  | 'KERNEL_CLOSURE'
  /** `verify` found that the device computes something else than the CPU. */
  | 'KERNEL_DIFFERS'
  /** A kernel threw, or ended its thread. What it wrote before stays. */
  | 'KERNEL_ERROR'
  /** The device does not run the language of this kernel. */
  | 'KERNEL_LANGUAGE'
  /** The module or the export of a kernel cannot be named so. */
  | 'KERNEL_MODULE'
  /** A parameter of a kernel has no type that exists. */
  | 'KERNEL_PARAMETER'
  /** The text of a kernel's function cannot be had or parsed. */
  | 'KERNEL_SOURCE'
  /** `begin` and `end` are no part of the launch, or the kernel cannot run over a part. */
  | 'LAUNCH_RANGE'
  /** The thread that serves page faults did not start. */
  | 'MANAGER_START'
  /** The manager's own thread, in which policies and notifiers run, cannot attach. */
  | 'MANAGER_THREAD'
  /** The call needs pages that move, which a mapped array does not have. */
  | 'MAPPED_ARRAY'
  /** A mapped array cannot be writable; leave out one of the two. */
  | 'MAPPED_WRITABLE'
  /** `maxLength` is below the length, or no whole number. */
  | 'MAX_LENGTH'
  /** The limit of the control group is too small for what was asked. */
  | 'MEMORY_LIMIT'
  /** Pages cannot be locked: the limit is too low (`ulimit -l`). */
  | 'MEMORY_LOCK'
  /** A process that attached sent a request that is none. Nothing is changed. */
  | 'MESSAGE'
  /** A message between processes is too large. */
  | 'MESSAGE_SIZE'
  /** A message between processes came in part. */
  | 'MESSAGE_TRUNCATED'
  /** A name is no string, too long, or none that a server can have. */
  | 'NAME'
  /** A server that alone has pages, or shares an array, does not answer. Retry later. */
  | 'NODE_LOST'
  /** A thread of an attached process has more notifiers than it may. */
  | 'NOTIFIERS'
  /** `data` of a notifier cannot be sent to the manager. */
  | 'NOTIFIER_DATA'
  /** The notifier has ended. */
  | 'NOTIFIER_ENDED'
  /** A callback of a notifier is no function. */
  | 'NOTIFIER_FUNCTION'
  /** `attachNotifier` was given no handle of a notifier. */
  | 'NOTIFIER_HANDLE'
  /** The module or export of a notifier cannot be had. */
  | 'NOTIFIER_MODULE'
  /** `owner` of a notifier is no device of the space. */
  | 'NOTIFIER_OWNER'
  /** `queue` of a notifier is no whole number that is possible. */
  | 'NOTIFIER_QUEUE'
  /** The file is no `.npy` file. */
  | 'NOT_AN_ARRAY_FILE'
  /** The path to replace is a folder, device, pipe or socket. */
  | 'NOT_A_REGULAR_FILE'
  /** The event has not happened yet. */
  | 'NOT_READY'
  /** Memory that is unregistered is not registered any more. */
  | 'NOT_REGISTERED'
  /** Arrays of files and providers cannot be resized. */
  | 'NOT_RESIZABLE'
  /** `flush` is for arrays that were opened with `shared: true`. */
  | 'NOT_SHARED'
  /** The device cannot end a kernel that runs. */
  | 'NO_CANCELLATION'
  /** The array has no file. */
  | 'NO_FILE'
  /** The space has kept no moves; open it with `history`, or record. */
  | 'NO_HISTORY'
  /** The part contains no whole page. */
  | 'NO_WHOLE_PAGE'
  /** This machine has no memory node of that number. */
  | 'NUMA_NODE'
  /** Options are no object, or have one that does not exist or cannot be so. */
  | 'OPTIONS'
  /** Only the process that opened the space can do this. */
  | 'OTHER_PROCESS'
  /** No memory is left for a page: all is pinned, held, or cannot be brought again. */
  | 'OUT_OF_MEMORY'
  /** The access is outside of the array. */
  | 'OUT_OF_RANGE'
  /** Room is needed, and storage or server is full or fails. All written data stays. */
  | 'OUT_OF_STORAGE'
  /** A written argument of a launch overlaps another one. */
  | 'OVERLAPPING_ARGUMENTS'
  /** The process that shared the space did not answer in time; it may be stopped. */
  | 'OWNER_BUSY'
  /** The process that shared the space has ended, has closed it, or is another user's. */
  | 'OWNER_LOST'
  /** An optional package cannot be loaded; the message names the line that installs it. */
  | 'PACKAGE_MISSING'
  /** A part whose rights change begins or ends within a page. */
  | 'PAGE_BOUNDARY'
  /** The pages of this kernel are not of 4 KiB. */
  | 'PAGE_SIZE'
  /** The pages are pinned in host memory. */
  | 'PINNED'
  /** A typed array of the program was collected or detached before its operation's turn. */
  | 'PLAIN_ARRAY_GONE'
  /** A policy cannot be loaded, or its options are not possible. */
  | 'POLICY'
  /** The poll of the manager has no such place. */
  | 'POLL_SLOT'
  /** `port` is no port. */
  | 'PORT'
  /**
   * A space has no room for another process: it has 15 devices and processes, or `hostMemory` is
   * too small. The message says how much is needed.
   */
  | 'PROCESSES'
  /** `data` of a provider cannot be sent to its thread. */
  | 'PROVIDER_DATA'
  /** The function of a provider failed. Everything else stays. */
  | 'PROVIDER_FAILED'
  /** The module or export of a provider cannot be named so. */
  | 'PROVIDER_MODULE'
  /** A quota of `onemem serve` leaves too little for the array. Nothing is changed. */
  | 'QUOTA'
  /** A recording names a file that cannot be written. */
  | 'RECORDING'
  /** What is to be registered is no memory, or is managed memory. */
  | 'REGISTER'
  /** Memory that is to be registered overlaps memory that is registered. */
  | 'REGISTERED'
  /** Registered memory was transferred, resized or unmapped. */
  | 'REGISTERED_GONE'
  /** Memory that is to be registered has no bytes. */
  | 'REGISTER_SIZE'
  /** `protect` takes `'none'`, `'read'` or `'readwrite'`; `share` takes `'read'` or `'write'`. */
  | 'RIGHTS'
  /** The live picture, or events, cannot be had, such as at a port that is in use. */
  | 'SERVE'
  /** The shape does not have as many elements as the array. */
  | 'SHAPE'
  /** Shared arrays do not have this call. Nothing is changed. */
  | 'SHARED_ARRAY'
  /** A shared array of this name has another type, length or block size. */
  | 'SHARED_MISMATCH'
  /** All access to a shared array cannot be forbidden. */
  | 'SHARED_NO_ACCESS'
  /** A file array cannot be shared and read-only. */
  | 'SHARED_READ_ONLY'
  /** The server of a shared array cannot be used; `details.reason` says why. */
  | 'SHARED_SERVER'
  /** A launch or copy kept blocks of a shared array for `on.holdMs`. Its writes are incomplete. */
  | 'SHARED_TAKEN'
  /** `signal` is no `AbortSignal`. */
  | 'SIGNAL'
  /** A number of bytes, of work items or of workgroups is not possible. */
  | 'SIZE'
  /** `slowMemory` is no file in memory with room that is the space's alone, or is badly described. */
  | 'SLOW_MEMORY'
  /** The space has been closed, or is being closed. */
  | 'SPACE_CLOSED'
  /** The file is no saved space, was cut, or is damaged. */
  | 'SPACE_FILE'
  /** `attachSpace` was given no handle of a space, or a changed one. */
  | 'SPACE_HANDLE'
  /** A name of a space is taken, or none that a space can have. */
  | 'SPACE_NAME'
  /** The space that was to be found by a name did not start; the message says why. */
  | 'SPACE_START'
  /** The handle was made before the array moved or was freed. */
  | 'STALE_HANDLE'
  /** `storage` is no folder on a disk with room. */
  | 'STORAGE'
  /** The stream has been disposed. */
  | 'STREAM_CLOSED'
  /** A system call of the manager failed; `details.errno` names the error. */
  | 'SYSTEM_CALL'
  /** The file has no tensor of this name. */
  | 'TENSOR'
  /** The file is no safetensors or GGUF file, or a damaged one. */
  | 'TENSOR_FILE'
  /** The thread is bound already, or the manager is bound elsewhere. */
  | 'THREAD_BOUND'
  /** The thread that was to call a function of a stream has ended. */
  | 'THREAD_ENDED'
  /** A running launch was ended by `timeoutMs`. Its written arrays are indeterminate. */
  | 'TIMEOUT'
  /** A number of milliseconds is not possible. */
  | 'TIMEOUT_MS'
  /** The file has more bytes than its elements or its shape take. */
  | 'TRAILING_BYTES'
  /** `transport` of a GPU is not possible. */
  | 'TRANSPORT'
  /** The `.npy` file ends within its header or its data. */
  | 'TRUNCATED_ARRAY_FILE'
  /** TypeGPU makes no kernel of this function. */
  | 'TYPEGPU'
  /** `reload` would drop changes; flush them, or say `discard: true`. */
  | 'UNFLUSHED_CHANGES'
  /** `units` of a device is not possible. */
  | 'UNITS'
  /** The pin was given up before its pages were there. */
  | 'UNPINNED'
  /** The machine does not offer what onemem needs; `details.missing` lists it. */
  | 'UNSUPPORTED'
  /** The `.npy` file has elements, an order or a version that cannot be used in place. */
  | 'UNSUPPORTED_ARRAY_FILE'
  /** onemem runs on Linux on x64 and arm64 processors. */
  | 'UNSUPPORTED_PLATFORM'
  /** A freed array is used, or a view from before the array moved. Nothing is changed. */
  | 'USE_AFTER_FREE'
  /** The value to wait for is none of the array's type. */
  | 'VALUE'
  /** The arguments are too large for `verify`, which copies them. */
  | 'VERIFY_SIZE'
  /** The array is larger than views on this version of Node.js. */
  | 'VIEW_SIZE'
  /** Only elements of managed arrays of 32 or 64-bit integers can be waited for. */
  | 'WAIT_ARRAY'
  /** The WGSL module of a kernel cannot be used; the message says where. */
  | 'WGSL'
  /** A binding of a WGSL module does not fit its parameter. */
  | 'WGSL_BINDING'
  /** The value of an override of a WGSL module is missing or not possible. */
  | 'WGSL_CONSTANTS'
  /** The working folder of the process was removed. */
  | 'WORKING_FOLDER';
