/**
 * Notes what the manager has told this process by its first argument. To be imported before all
 * that makes system calls, which load the binary.
 */
import { noteBinary } from '../../linux/base/koffi-binary.js';

noteBinary(process.argv[2]);
