/** What to say where the process that opened a space does not answer any more. */

export function ownerEnded(owner: number): string {
  return `process ${owner}, which opened the space, has ended or has closed it`;
}

/** The socket has no listener. */
export function ownerNotFound(owner: number): string {
  return (
    `cannot attach: ${ownerEnded(owner)}, or is in another network namespace (another container); ` +
    'share the space again and pass the new handle'
  );
}

/** The owner has heard, and has not answered. */
export function ownerHungUp(owner: number): string {
  return (
    `cannot attach: process ${owner} has closed the connection; the space is another user's, ` +
    'has 64 threads of other processes already, or is being closed'
  );
}

export function ownerEndedLater(owner: number): string {
  return `${ownerEnded(owner)}; what is in memory here can still be read`;
}

/** Of a page that only the owner could have brought. */
export function ownerEndedBefore(owner: number, address: number): string {
  return `${ownerEnded(owner)}, and the page at 0x${address.toString(16)} is not in memory here`;
}
