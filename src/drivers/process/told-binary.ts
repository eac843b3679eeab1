/** What the first argument told this process. Imported before all that loads the binary. */
import { noteBinary } from '../../linux/base/koffi-binary.js';

noteBinary(process.argv[2]);
