/** Which transport drives a GPU: by the program, the environment, or what is installed. */
import { withoutLines } from '../../../linux/files/standard-error.js';
import type { TransportChoice } from '../link/protocol.js';
import { mistakesOf } from './dawn/check.js';
import { loadDawn, PACKAGE, packagedLibrary, REMEDY, VERSION } from './dawn/library.js';
import { openNative } from './dawn/open-native.js';
import { openDawn } from './dawn-transport.js';
import type { FailingGpu } from './failing-gpu.js';
import type { Transport } from './gpu-transport.js';

/** Dawn writes this with each GPU of which it takes less than all limits. */
const NOTICES = /^Warning: maxDynamic\w+ artificially reduced/;

/** Where a program says nothing: 'dawn-node', 'dawn-ffi', or the path of a library. */
const TRANSPORT = 'ONEMEM_WEBGPU_TRANSPORT';

function chosen(): TransportChoice | undefined {
  const text = process.env[TRANSPORT];
  if (text === undefined || text === '') return undefined;
  if (text === 'dawn-node' || text === 'dawn-ffi') return text;
  if (text.startsWith('/')) return { library: text };
  throw new Error(
    `${TRANSPORT} is '${text}'; write dawn-node, dawn-ffi, or the path of a library from / on`,
  );
}

/**
 * The faster one, where the package with its library is installed in the version that is known:
 * only a user installs it, no other package does.
 */
function usual(): TransportChoice {
  try {
    packagedLibrary();
    return 'dawn-ffi';
  } catch {
    return 'dawn-node';
  }
}

/** Opens the GPU that the system prefers. Throws why there is none. */
export function openTransport(
  choice: TransportChoice | undefined,
  failing: FailingGpu | null,
): Promise<Transport> {
  return withoutLines(NOTICES, () => open(choice, failing));
}

async function open(
  choice: TransportChoice | undefined,
  failing: FailingGpu | null,
): Promise<Transport> {
  const way = choice ?? chosen() ?? usual();
  if (way === 'dawn-node') return openDawn(failing);
  if (way === 'dawn-ffi') return openNative(loadDawn(packagedLibrary()), failing);
  const dawn = loadDawn(way.library);
  const [mistake] = await mistakesOf(dawn);
  if (mistake !== undefined) {
    throw new Error(
      `the library ${way.library} is not like that of ${PACKAGE} ${VERSION}, which alone is known (${mistake}); ${REMEDY}`,
    );
  }
  return openNative(dawn, failing);
}
