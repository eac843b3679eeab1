/**
 * The codes that commands fail with, besides those of the library. `npm run api:update` writes
 * their table in docs/reference/errors.md from the comments.
 */
export type CommandErrorCode =
  /** The demonstration used more memory than its device has. */
  | 'BUDGET'
  /** The demonstration needs packages that a plain installation leaves out. */
  | 'DEMO_PACKAGES'
  /** The disk has less room than the results need. */
  | 'DISK_SPACE'
  /** A shape was given where none can be. */
  | 'FILE_SHAPE'
  /** A file holds another type than the kernel declares, or its type was given twice. */
  | 'FILE_TYPE'
  /** No GPU in software could be had or started. */
  | 'GPU_SOFTWARE'
  /** The kernel file is missing, cannot be loaded, or exports no kernel. */
  | 'KERNEL_FILE'
  /** The file describes no machine. */
  | 'MACHINE'
  /** A parameter of the kernel has no argument. */
  | 'MISSING_PARAMETER'
  /** The file is no recording. */
  | 'NO_RECORDING'
  /** No program of this user lets others look at its space. */
  | 'NO_SPACE'
  /** The file is no trace that onemem knows. */
  | 'NO_TRACE'
  /** The text of `--set` is no number or value of the parameter's type. */
  | 'NUMBER'
  /** A space or its arrays could not be opened. */
  | 'OPEN'
  /** An option uses a parameter otherwise than the kernel declares it. */
  | 'PARAMETER_USE'
  /** The replay does something else than the recording says. */
  | 'REPLAY_DIFFERS'
  /** A result cannot be written to its file. */
  | 'RESULT_FILE'
  /** Two results would be written to one file. */
  | 'SAME_RESULT'
  /** The kernel has no parameter of this name. */
  | 'UNKNOWN_PARAMETER'
  /** A computed or copied result is wrong. Please report it. */
  | 'WRONG_RESULT';
