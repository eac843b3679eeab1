import { describe, expect, it } from 'vitest';
import { closeEventfd, createEventfd, drainEventfd, notifyEventfd } from './eventfd.js';

describe('eventfd', () => {
  it('counts notifications until they are taken', () => {
    const fd = createEventfd();
    expect(drainEventfd(fd)).toBe(0);
    notifyEventfd(fd);
    notifyEventfd(fd);
    expect(drainEventfd(fd)).toBe(2);
    expect(drainEventfd(fd)).toBe(0);
    closeEventfd(fd);
  });

  it('starts with the value that it was given', () => {
    const fd = createEventfd(0xffff_fffe);
    expect(drainEventfd(fd)).toBe(0xffff_fffe);
    closeEventfd(fd);
  });

  it('says which descriptor was wrong', () => {
    expect(() => notifyEventfd(-1)).toThrowError(/^write\(fd=-1\) failed: EBADF/);
    expect(() => drainEventfd(-1)).toThrowError(/^read\(fd=-1\) failed: EBADF/);
  });
});
