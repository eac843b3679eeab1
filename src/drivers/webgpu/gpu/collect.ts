/** Collects garbage on demand: objects of `webgpu` keep memory of the GPU until then. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** For a process of our own, since it takes some milliseconds and changes flags of V8. */
export function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
