import type { Setting } from './world.js';

/** Small enough for every run. */
export const SMALL: readonly Setting[] = [
  { name: 'two write and read a block', blocks: 1, programs: ['w0 r0 w0', 'w0 r0 w0'] },
  { name: 'two upgrade copies of a block', blocks: 1, programs: ['r0 w0 r0', 'r0 w0 r0'] },
  { name: 'two tell each other by two blocks', blocks: 2, programs: ['w0 w1 r0', 'r1 r0 w0'] },
  { name: 'an owner flushes', blocks: 1, programs: ['w0 f0 w0 f0', 'r0 w0 f0'] },
  { name: 'a machine dies', blocks: 1, programs: ['w0 f0 w0', 'w0 r0'], crashes: 1 },
  { name: 'a connection breaks', blocks: 1, programs: ['w0 f0', 'w0'], breaks: 1 },
  { name: 'a lease ends', blocks: 1, programs: ['w0 r0', 'w0 r0'], leaseEnds: 1 },
  { name: 'a lease ends while two upgrade copies', blocks: 1, programs: ['r0 w0', 'r0 w0'], leaseEnds: 1 },
  { name: 'a machine dies while two upgrade copies', blocks: 1, programs: ['r0 w0', 'r0 w0'], crashes: 1 },
  { name: 'a lease ends while others read', blocks: 1, programs: ['w0 r0', 'r0'], leaseEnds: 1 },
  { name: 'two threads of a machine', blocks: 1, programs: ['r0 w0', 'w0 r0'], ahead: true },
  { name: 'two threads of a machine, and two others', blocks: 1, programs: ['r0 w0', 'w0', 'w0'], ahead: true },
  { name: 'a machine stands still beyond its lease', blocks: 1, programs: ['w0 w0 r0', 'w0'], stops: 1 },
  { name: 'three write', blocks: 1, programs: ['w0', 'w0', 'w0'] },
  { name: 'content finds no room', blocks: 1, programs: ['w0 r0', 'w0 r0'], shortages: 2 },
  { name: 'content finds no room, and a lease ends', blocks: 1, programs: ['w0', 'r0 w0'], shortages: 1, leaseEnds: 1 },
  { name: 'a server forgets', blocks: 1, programs: ['w0 f0 r0', 'r0 w0'], forgets: 1 },
  { name: 'a server forgets, and a connection breaks', blocks: 1, programs: ['w0 f0', 'r0'], forgets: 1, breaks: 1 },
  { name: 'two read what one writes', blocks: 1, programs: ['w0 w0', 'r0', 'r0'] },
];

/** What takes minutes. */
export const LARGE: readonly Setting[] = [
  { name: 'a machine dies while three want to write', blocks: 1, programs: ['r0 w0', 'w0', 'w0'], crashes: 1 },
  { name: 'a lease ends while three want to write', blocks: 1, programs: ['r0 w0', 'w0', 'w0'], leaseEnds: 1 },
  { name: 'a connection breaks between writes and reads', blocks: 1, programs: ['w0 r0 f0', 'w0 r0'], breaks: 1 },
  { name: 'two upgrade copies again and again', blocks: 1, programs: ['r0 w0 r0 w0', 'r0 w0 r0 w0'] },
  { name: 'three write and one reads', blocks: 1, programs: ['w0 r0', 'w0', 'w0'] },
  { name: 'a lease ends, of two blocks', blocks: 2, programs: ['r0 w1 r0', 'w0 r1'], leaseEnds: 1 },
  { name: 'a connection breaks twice', blocks: 1, programs: ['w0 r0 w0', 'w0 r0'], breaks: 2 },
  { name: 'a connection breaks, and a lease ends', blocks: 1, programs: ['w0 r0', 'w0 r0'], breaks: 1, leaseEnds: 1 },
  { name: 'a connection breaks, and a machine dies', blocks: 1, programs: ['w0 f0', 'w0 r0'], breaks: 1, crashes: 1 },
  {
    name: 'a machine stands still, and its connection breaks',
    blocks: 1,
    programs: ['w0 w0', 'w0 r0'],
    breaks: 1,
    stops: 1,
  },
  { name: 'two blocks, and a connection breaks', blocks: 2, programs: ['w0 w1 r0', 'r1 w0'], breaks: 1 },
  { name: 'two blocks, and a machine dies', blocks: 2, programs: ['w0 w1 f0', 'r1 w0'], crashes: 1 },
  { name: 'three, and one dies', blocks: 1, programs: ['w0', 'w0 r0', 'r0'], crashes: 1 },
  { name: 'three, and a lease ends', blocks: 1, programs: ['w0', 'w0', 'r0'], leaseEnds: 1 },
  { name: 'a server forgets, and a lease ends', blocks: 1, programs: ['w0 f0', 'w0 r0'], forgets: 1, leaseEnds: 1 },
  { name: 'a server forgets twice', blocks: 1, programs: ['w0 f0 r0', 'r0 w0'], forgets: 2 },
  { name: 'a server forgets two blocks', blocks: 2, programs: ['w0 w1 r0', 'r1 w0'], forgets: 1 },
  { name: 'three, and one stands still', blocks: 1, programs: ['w0', 'w0', 'r0'], stops: 1 },
  { name: 'three tell each other by two blocks', blocks: 2, programs: ['w0 w1', 'r1 r0', 'w0 r1'] },
];
