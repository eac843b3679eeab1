/** Notifiers that are told in the manager's thread, or are none. */
export function watch(): { invalidate(): void } {
  return { invalidate: () => undefined };
}

export function nothing(): object {
  return {};
}

export function fails(): never {
  throw Object.create(null);
}

/** A guard. */
export function allow(): string {
  return 'allow';
}
