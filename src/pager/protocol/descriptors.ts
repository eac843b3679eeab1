/**
 * Descriptors in requests. Threads of one process pass their numbers; those of another process pass
 * beside the bytes of the message that names them, one at most.
 */
import type { ToManager } from './messages.js';

/** The descriptor of a request; null: it has none. */
export function descriptorIn({ name, value }: ToManager): number | null {
  if (name === 'allocate') return value.file?.fd ?? null;
  return name === 'watch' ? value.memory : null;
}

/** The request with the number that its descriptor has in this process. */
export function withDescriptor(message: ToManager, fd: number): ToManager {
  const { name, value } = message;
  if (name === 'allocate' && value.file !== null)
    return { ...message, name, value: { ...value, file: { ...value.file, fd } } };
  return name === 'watch' ? { ...message, name, value: { ...value, memory: fd } } : message;
}
