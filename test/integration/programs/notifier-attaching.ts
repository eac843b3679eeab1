/** A module that the manager's thread must refuse, since it would wait for itself. */
import { type ArrayHandle, attachArray, type NotifierFunctions } from '../../../src/index.js';

export default function attaching(handle: ArrayHandle): NotifierFunctions {
  attachArray(handle);
  return { invalidate: () => undefined };
}
