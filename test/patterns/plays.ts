/** Ways through memory that programs have, played in the core and counted. */
import { HOST, PAGES_PER_BLOCK, type ProcessorId } from '../../src/core/basics/types.js';
import { choicesOf, namedPolicies } from '../../src/policy/choices.js';
import { ENOUGH, Machine } from './machine.js';
import { PLANNED } from './planned.js';

/** Room of the memory that is too small, in blocks. */
const ROOM = 8;

const B = PAGES_PER_BLOCK;
const [TWICE, QUARTER_MORE] = [2 * ROOM * B, 1.25 * ROOM * B];

function onDevice(play: (machine: Machine, device: ProcessorId) => void): () => Machine {
  return () => {
    const machine = new Machine(ENOUGH);
    play(machine, machine.device(ROOM));
    return machine;
  };
}

function onHost(play: (machine: Machine) => void): () => Machine {
  return () => {
    const machine = new Machine(ROOM);
    play(machine);
    return machine;
  };
}

/** Down the columns of a matrix, whose rows have so many elements of 4 bytes, some of its columns. */
function columns(machine: Machine, device: ProcessorId, rows: number, width: number, step: number) {
  const pages = Math.ceil((rows * width) / 1024);
  const first = machine.array(pages);
  machine.launch(device, [[first, pages, 'inout']], () => {
    for (let column = 0; column < width; column += step)
      for (let row = 0; row < rows; row++)
        machine.touch(device, first + ((row * width + column) >> 10), true);
  });
}

/** So many pages from each place that is a multiple of `step`, some times over. */
function everyRow(
  machine: Machine,
  processor: ProcessorId,
  first: number,
  pages: number,
  row: number,
  step: number,
  times: number,
): void {
  for (let time = 0; time < times; time++)
    for (let at = 0; at + row <= pages; at += step)
      for (let page = at; page < at + row; page++) machine.touch(processor, first + page);
}

function walk(machine: Machine, by: ProcessorId, first: number, pages: number, write = false) {
  for (let page = first; page < first + pages; page++) machine.touch(by, page, write);
}

/** A launch that reads two arrays beside each other, and writes a third. */
function triad(
  machine: Machine,
  device: ProcessorId,
  [a, b, c]: readonly number[],
  pages: number,
): void {
  const uses = [
    [a, pages, 'out'],
    [b, pages, 'in'],
    [c, pages, 'in'],
  ] as const;
  machine.launch(device, uses, () => {
    for (let page = 0; page < pages; page++) {
      machine.touch(device, b + page);
      machine.touch(device, c + page);
      machine.touch(device, a + page, true);
    }
  });
}

/** Skewed: page of rank r about as often as 1 / r. */
function zipf(machine: Machine, pages: number): number {
  const rank = Math.floor(pages ** (machine.random(2 ** 20) / 2 ** 20)) - 1;
  return (rank * 2_654_435_761) % pages;
}

/** What is played. Sizes are small, so that all take seconds. */
export const PLAYS: Readonly<Record<string, () => Machine>> = {
  'slow-memory-random': onHost((machine) => {
    machine.slowMemory({ latencyUs: 1, bytesPerUs: 1000 });
    const first = machine.array(TWICE);
    for (let time = 0; time < 3000; time++) machine.touch(HOST, first + machine.random(TWICE));
  }),
  'fits-read': onDevice((machine, device) => {
    const first = machine.array(6 * B);
    for (let time = 0; time < 3; time++) walk(machine, device, first, 6 * B);
  }),
  sequential: onDevice((machine, device) => {
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'in']], () => walk(machine, device, first, TWICE));
  }),
  'sequential-no-launch': onDevice((machine, device) => {
    walk(machine, device, machine.array(TWICE), TWICE);
  }),
  'write-sequential': onDevice((machine, device) => {
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'out']], () =>
      walk(machine, device, first, TWICE, true),
    );
  }),
  reverse: onDevice((machine, device) => {
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'in']], () => {
      for (let page = TWICE - 1; page >= 0; page--) machine.touch(device, first + page);
    });
  }),
  'interleaved-parts': onDevice((machine, device) => {
    const first = machine.array(TWICE);
    const part = TWICE / 4;
    machine.launch(device, [[first, TWICE, 'in']], () => {
      for (let page = 0; page < part; page++)
        for (let each = 0; each < 4; each++) machine.touch(device, first + each * part + page);
    });
  }),
  'nine-arrays': onDevice((machine, device) => {
    const pages = Math.floor(TWICE / 9);
    const all = Array.from({ length: 9 }, () => machine.array(pages));
    machine.launch(
      device,
      all.map((first, at) => [first, pages, at === 8 ? 'out' : 'in'] as const),
      () => {
        for (let page = 0; page < pages; page++)
          for (const [at, first] of all.entries()) machine.touch(device, first + page, at === 8);
      },
    );
  }),
  triad: onDevice((machine, device) => {
    const pages = Math.floor(TWICE / 3);
    const [a, b, c] = [0, 1, 2].map(() => machine.array(pages));
    for (let time = 0; time < 3; time++) triad(machine, device, [a, b, c], pages);
  }),
  // Between two launches the host takes all of it back.
  'triad-again-fits': onDevice((machine, device) => {
    const pages = 2 * B;
    const [a, b, c] = [0, 1, 2].map(() => machine.array(pages));
    for (let time = 0; time < 3; time++) {
      triad(machine, device, [a, b, c], pages);
      for (const first of [a, b, c]) walk(machine, HOST, first, pages, true);
    }
  }),
  // Each launch reads somewhere else, once from the beginning to the end, then a page of it.
  'walks-once-fits': onDevice((machine, device) => {
    const first = machine.array(6 * B);
    for (let time = 0; time < 8; time++) {
      const pages = time === 0 ? 6 * B : 1;
      machine.launch(device, [[first, 6 * B, 'in']], () => walk(machine, device, first, pages));
      walk(machine, HOST, first, 6 * B, true);
    }
  }),
  stencil: onDevice((machine, device) => {
    const pages = TWICE / 2;
    const [from, to] = [machine.array(pages), machine.array(pages)];
    for (let time = 0; time < 2; time++)
      machine.launch(
        device,
        [
          [from, pages, 'in'],
          [to, pages, 'out'],
        ],
        () => {
          for (let page = 2; page + 2 < pages; page++) {
            for (const by of [-2, 0, 2]) machine.touch(device, from + page + by);
            machine.touch(device, to + page, true);
          }
        },
      );
  }),
  sgemm: onDevice((machine, device) => {
    const pages = QUARTER_MORE;
    const [a, b, c] = [machine.array(64), machine.array(pages), machine.array(64)];
    machine.launch(
      device,
      [
        [a, 64, 'in'],
        [b, pages, 'in'],
        [c, 64, 'out'],
      ],
      () => {
        for (let strip = 0; strip < 4; strip++) {
          walk(machine, device, a + strip * 16, 16);
          walk(machine, device, b, pages);
          walk(machine, device, c + strip * 16, 16, true);
        }
      },
    );
  }),
  'loop-1.25x': onDevice((machine, device) => {
    const first = machine.array(QUARTER_MORE);
    for (let time = 0; time < 8; time++)
      machine.launch(device, [[first, QUARTER_MORE, 'in']], () =>
        walk(machine, device, first, QUARTER_MORE),
      );
  }),
  columns: onDevice((machine, device) => columns(machine, device, 2896, 2896, 1)),
  'columns-some': onDevice((machine, device) => columns(machine, device, 2896, 2896, 64)),
  'columns-2048': onDevice((machine, device) => columns(machine, device, 2048, 4096, 8)),
  'columns-wide': onDevice((machine, device) => columns(machine, device, 512, 16_384, 64)),
  'columns-of-file': onHost((machine) => columnsOfFile(machine, HOST)),
  'columns-of-file-attached': onHost((machine) => columnsOfFile(machine, machine.attached())),
  transpose: onDevice((machine, device) => {
    const [x, y] = [machine.array(TWICE / 2), machine.array(TWICE / 2)];
    machine.launch(
      device,
      [
        [x, TWICE / 2, 'in'],
        [y, TWICE / 2, 'out'],
      ],
      () => {
        for (let row = 0; row < 2048; row++) {
          walk(machine, device, x + row * 2, 2);
          for (let column = 0; column < 2048; column++)
            machine.touch(device, y + ((column * 2048 + row) >> 10), true);
        }
      },
    );
  }),
  'every-8th-row': onDevice((machine, device) => {
    const first = machine.array(4 * TWICE);
    machine.launch(device, [[first, 4 * TWICE, 'in']], () =>
      everyRow(machine, device, first, 4 * TWICE, 2, 16, 2),
    );
  }),
  'every-64th-page': onDevice((machine, device) => {
    const first = machine.array(8 * TWICE);
    machine.launch(device, [[first, 8 * TWICE, 'in']], () =>
      everyRow(machine, device, first, 8 * TWICE, 1, 64, 4),
    );
  }),
  'every-5th-page': onDevice((machine, device) => {
    const first = machine.array(2 * TWICE);
    machine.launch(device, [[first, 2 * TWICE, 'in']], () =>
      everyRow(machine, device, first, 2 * TWICE, 1, 5, 8),
    );
  }),
  'every-8th-row-of-file': onHost((machine) => {
    everyRow(machine, HOST, machine.file(8 * ROOM), 8 * ROOM * B, 2, 16, 2);
  }),
  tiles: onDevice((machine, device) => {
    // 4096 x 2048 elements; tiles of 512 x 512, each gone through twice.
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'inout']], () => {
      for (let tile = 0; tile < 32; tile++)
        for (let time = 0; time < 2; time++)
          for (let row = 0; row < 512; row++) {
            const element = ((tile >> 2) * 512 + row) * 2048 + (tile & 3) * 512;
            machine.touch(device, first + (element >> 10), true);
          }
    });
  }),
  random: onDevice((machine, device) => {
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'in']], () => {
      for (let each = 0; each < 16_384; each++)
        machine.touch(device, first + machine.random(TWICE));
    });
  }),
  changes: onDevice((machine, device) => {
    const first = machine.array(TWICE);
    machine.launch(device, [[first, TWICE, 'inout']], () => {
      for (let each = 0; each < 16_384; each++) {
        const page = first + machine.random(TWICE);
        machine.touch(device, page);
        machine.touch(device, page, true);
      }
    });
  }),
  'random-fits': onDevice((machine, device) => {
    const first = machine.array(6 * B);
    machine.launch(device, [[first, 6 * B, 'in']], () => {
      for (let each = 0; each < 16_384; each++)
        machine.touch(device, first + machine.random(6 * B));
    });
  }),
  gather: onDevice((machine, device) => {
    const [table, order] = [machine.array(TWICE), machine.array(4)];
    for (let time = 0; time < 3; time++)
      machine.launch(
        device,
        [
          [table, TWICE, 'in'],
          [order, 4, 'in'],
        ],
        () => {
          for (let each = 0; each < 4096; each++) {
            machine.touch(device, order + (each >> 10));
            machine.touch(device, table + machine.random(TWICE));
          }
        },
      );
  }),
  zipf: onDevice((machine, device) => {
    const first = machine.array(2 * TWICE);
    for (let each = 0; each < 40_000; each++)
      machine.touch(device, first + zipf(machine, 2 * TWICE));
  }),
  'hot-and-scan': onDevice((machine, device) => {
    const [hot, scanned] = [machine.array(4 * B), machine.array(2 * TWICE)];
    for (let page = 0; page < 2 * TWICE; page++) {
      machine.touch(device, scanned + page);
      machine.touch(device, hot + machine.random(4 * B));
    }
  }),
  'scan-and-random': onDevice((machine, device) => {
    const first = machine.array(TWICE);
    for (let page = 0; page < TWICE; page++) {
      machine.touch(device, first + page);
      if (page % 8 === 0) machine.touch(device, first + machine.random(TWICE));
    }
  }),
  'ping-pong': onDevice((machine, device) => {
    const first = machine.array(4 * B);
    for (let time = 0; time < 6; time++) {
      walk(machine, device, first, 4 * B, true);
      walk(machine, HOST, first, 4 * B, true);
    }
  }),
  'ping-pong-pages': onDevice((machine, device) => {
    const first = machine.array(4 * B);
    for (let time = 0; time < 4096; time++) {
      const page = first + machine.random(4 * B);
      machine.touch(device, page, true);
      machine.touch(HOST, page, true);
    }
  }),
  'uvm-thrashing': () => {
    const machine = new Machine(ENOUGH, namedPolicies(choicesOf('uvm')));
    const device = machine.device(ROOM, { remoteAccess: true });
    const first = machine.array(64);
    for (let time = 0; time < 12; time++) {
      machine.arrange(device, first, 64);
      machine.launch(device, [[first, 64, 'inout']], () => walk(machine, device, first, 64, true));
      walk(machine, HOST, first, 64, true);
    }
    return machine;
  },
  'file-scan': onHost((machine) => walk(machine, HOST, machine.file(4 * ROOM), 4 * ROOM * B)),
  'file-scan-again': onHost((machine) => {
    const first = machine.file(10);
    for (let time = 0; time < 8; time++) walk(machine, HOST, first, 10 * B);
  }),
  'file-random': onHost((machine) => {
    const first = machine.file(4 * ROOM);
    for (let each = 0; each < 16_384; each++)
      machine.touch(HOST, first + machine.random(4 * ROOM * B));
  }),
  'file-random-runs': onHost((machine) => {
    const first = machine.file(4 * ROOM);
    for (let each = 0; each < 1024; each++)
      walk(machine, HOST, first + machine.random(4 * ROOM * B - 24), 24);
  }),
  'files-at-once': onHost((machine) => {
    const all = Array.from({ length: 20 }, () => machine.file(2));
    for (let page = 0; page < 2 * B; page++)
      for (const first of all) machine.touch(HOST, first + page);
  }),
  'forty-files-at-once': onHost((machine) => {
    const all = Array.from({ length: 40 }, () => machine.file(2));
    for (let page = 0; page < 2 * B; page++)
      for (const first of all) machine.touch(HOST, first + page);
  }),
  'every-2nd-page': onDevice((machine, device) => {
    const first = machine.array(2 * TWICE);
    machine.launch(device, [[first, 2 * TWICE, 'in']], () =>
      everyRow(machine, device, first, 2 * TWICE, 1, 2, 8),
    );
  }),
  'every-16th-page': onDevice((machine, device) => {
    const first = machine.array(8 * TWICE);
    machine.launch(device, [[first, 8 * TWICE, 'in']], () =>
      everyRow(machine, device, first, 8 * TWICE, 1, 16, 4),
    );
  }),
  'storage-scan': onHost((machine) => {
    machine.store();
    const first = machine.array(TWICE);
    for (let time = 0; time < 3; time++) walk(machine, HOST, first, TWICE);
  }),
  'storage-write': onHost((machine) => {
    machine.store();
    const first = machine.array(TWICE);
    for (let time = 0; time < 2; time++) walk(machine, HOST, first, TWICE, true);
  }),
  'storage-random': onHost((machine) => touchStored(machine, HOST)),
  'storage-random-attached': onHost((machine) => touchStored(machine, machine.attached())),
  // What one has read another one reads right behind it, and writes.
  'storage-behind-attached': onHost((machine) => {
    machine.store();
    const [reader, writer] = [machine.attached(), machine.attached()];
    const first = machine.array(TWICE);
    for (let time = 0; time < 4; time++)
      for (let begin = first; begin < first + TWICE; begin += B) {
        walk(machine, reader, begin, B);
        for (let page = begin; page < begin + B; page++) {
          machine.touch(writer, page);
          machine.touch(writer, page, true);
        }
      }
  }),
  'present-attached': () =>
    present((machine, process, first) => walk(machine, process, first, 64 * B)),
  'present-every-64th-attached': () =>
    present((machine, process, first) => everyRow(machine, process, first, 64 * B, 1, 64, 1)),
  'present-random-attached': () =>
    present((machine, process, first) => {
      for (let time = 0; time < 2000; time++)
        machine.touch(process, first + machine.random(64 * B));
    }),
  ...PLANNED,
  'gpu-results': () => results((machine, first) => walk(machine, HOST, first, 16 * B)),
  'gpu-results-part': () => results((machine, first) => walk(machine, HOST, first, 3 * B + 100)),
  'gpu-results-some': () =>
    results((machine, first) => {
      for (let each = 0; each < 64; each++) machine.touch(HOST, first + machine.random(16 * B));
    }),
  'gpu-results-few': () =>
    results((machine, first) => {
      for (let block = 0; block < 16; block++) walk(machine, HOST, first + block * B, 2);
    }),
};

/** A process comes to an array that is wholly in the host's memory. */
function present(play: (machine: Machine, process: ProcessorId, first: number) => void): Machine {
  const machine = new Machine(ENOUGH);
  const first = machine.array(64 * B);
  play(machine, machine.attached(), first);
  return machine;
}

/** Some columns of a matrix in a file that is twice as large as the memory. */
function columnsOfFile(machine: Machine, by: ProcessorId): void {
  const first = machine.file(2 * ROOM);
  for (let column = 0; column < 4096; column += 32)
    for (let row = 0; row < 2048; row++) machine.touch(by, first + ((row * 4096 + column) >> 10));
}

function touchStored(machine: Machine, by: ProcessorId): void {
  machine.store();
  const first = machine.array(TWICE);
  for (let each = 0; each < 8192; each++) machine.touch(by, first + machine.random(TWICE));
}

/** A device that only an engine reaches writes an array again and again, and the host looks at it. */
function results(look: (machine: Machine, first: number) => void): Machine {
  const machine = new Machine(ENOUGH);
  const device = machine.device(32, { faults: false, units: 0, addressable: false });
  const first = machine.fresh(16 * B);
  for (let time = 0; time < 4; time++) {
    machine.launch(device, [[first, 16 * B, 'out']], () => undefined);
    if (time === 0) machine.begin();
    look(machine, first);
  }
  return machine;
}
