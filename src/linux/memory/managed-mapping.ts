/** Mappings whose faults the manager serves, in whatever process they are. */
import {
  MADV_DONTDUMP,
  MADV_DONTFORK,
  MADV_NOHUGEPAGE,
  UFFD_FEATURES,
  UFFDIO_REGISTER_MODE_MINOR,
  UFFDIO_REGISTER_MODE_MISSING,
  UFFDIO_REGISTER_MODE_WP,
} from '../base/constants.js';
import { tryMadvise } from './memory.js';

/** What the manager needs of userfaultfd; the process that maps the memory asks for these. */
export const FAULT_FEATURES =
  UFFD_FEATURES.PAGEFAULT_FLAG_WP |
  UFFD_FEATURES.MISSING_SHMEM |
  UFFD_FEATURES.MINOR_SHMEM |
  UFFD_FEATURES.WP_HUGETLBFS_SHMEM |
  UFFD_FEATURES.THREAD_ID;

export const FAULT_MODES =
  UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;

/** Keeps node memory out of forks, core dumps and huge pages, which would break the budget. */
export function settleMapping(address: number, bytes: number): void {
  for (const advice of [MADV_DONTFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE])
    tryMadvise(address, bytes, advice);
}
