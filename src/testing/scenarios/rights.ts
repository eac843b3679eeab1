/** Rights that change while arrays are in use, and what is told of pages. */
import type { Device } from '../../index.js';
import {
  BLOCK_BYTES,
  BUFFER_BYTES,
  BUFFER_WORDS,
  equal,
  holds,
  PAGE_BYTES,
  refused,
  same,
  WORDS_PER_PAGE,
} from '../context.js';
import { copy, mix, mixed, pattern } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { mixOn, onDevice, seenBy, type Words } from './common.js';

/**
 * Pages that are treated alike lie together: 64 KiB, as much as a device brings at once, or as much as
 * it has one right to.
 */
function groupBytesOf([{ capabilities }]: readonly Device[]): number {
  return Math.max(16 * PAGE_BYTES, Math.min(capabilities.granularityBytes, BLOCK_BYTES));
}

/** Groups of pages in a row, by names. */
class Groups {
  readonly words: number;

  constructor(
    readonly names: readonly string[],
    readonly bytes: number,
  ) {
    this.words = bytes / 4;
  }

  of(name: string): { readonly begin: number; readonly end: number } {
    const begin = this.names.indexOf(name) * this.words;
    return { begin, end: begin + this.words };
  }

  /** The CPU reads what it should, of all that have not been freed. */
  same(array: Words, content: Uint32Array): void {
    for (const name of this.names) {
      const { begin, end } = this.of(name);
      if (name !== 'hole')
        same(`the data of ${name}`, array.data.subarray(begin, end), content.subarray(begin, end));
    }
  }
}

export const rights: readonly Scenario[] = [
  {
    name: 'anon_read_prot',
    devices: 1,
    holds:
      "a device cannot read what is protected 'none', wherever it is; neither source nor destination changes",
    run: async ({ device, words, prefetch, watch }) => {
      for (const place of ['host', 'device', 'both'] as const) {
        const what = `with the source on ${place}`;
        const [source, destination] = [words(), words()];
        let content = pattern(BUFFER_WORDS, 0x51ab_0090);
        if (place === 'device') content = await onDevice(device, source, 0x51ab_0090);
        else source.data.set(content);
        if (place === 'both') await prefetch(source, device);
        const other = pattern(BUFFER_WORDS, 0x51ab_0091);
        destination.data.set(other);
        await source.protect('none');
        const moved = watch();
        await refused(`a launch ${what}`, 'ACCESS_DENIED', () =>
          device.run(copy, { source, destination }, { size: BUFFER_WORDS }),
        );
        equal(
          `bytes of the source that moved ${what}`,
          moved(device).bytesIn + moved('host').bytesIn,
          0,
        );
        same(`the destination ${what}`, destination.data, other);
        await source.protect('readwrite');
        same(`what the device reads when it may, ${what}`, await seenBy(device, source), content);
        same(`the source ${what}`, source.data, content);
      }
    },
  },
  {
    name: 'anon_write_prot',
    devices: 1,
    holds:
      'a device reads what may only be read, also where nobody wrote, and cannot write it until it may be written',
    run: async ({ device, words, prefetch }) => {
      for (const place of ['untouched', 'host', 'device', 'both'] as const) {
        const what = `with the array on ${place}`;
        const array = words();
        let content =
          place === 'untouched'
            ? new Uint32Array(BUFFER_WORDS)
            : pattern(BUFFER_WORDS, 0x51ab_0092);
        if (place === 'device') content = await onDevice(device, array, 0x51ab_0092);
        else if (place !== 'untouched') array.data.set(content);
        if (place === 'both') await prefetch(array, device);
        await array.protect('read');
        same(`what the device reads ${what}`, await seenBy(device, array), content);
        const run = (): Promise<void> => mixOn(device, array, 5);
        await refused(`a launch that writes ${what}`, 'ACCESS_DENIED', run);
        same(`the data after it ${what}`, array.data, content);
        same(`what the device reads after it ${what}`, await seenBy(device, array), content);
        await array.protect('readwrite');
        await run();
        same(`the data after the same launch, allowed, ${what}`, array.data, mixed(content, 5));
      }
    },
  },
  {
    name: 'migrate_mixed',
    devices: 2,
    holds:
      'a call migrates what may be: zero pages, read-only ones, written ones, those on the other device; what is protected or freed is refused by name',
    run: async ({ space, words, prefetch, watch }) => {
      const [one, two] = space.devices;
      const names = ['none', 'hole', 'zero', 'read', 'written', 'peer', 'peer alone'];
      const groups = new Groups(names, groupBytesOf(space.devices));
      const groupBytes = groups.bytes;
      const array = words(names.length * groups.words);
      const content = await onDevice(two, array, 0x51ab_0094);
      const { begin: zero, end: zeroEnd } = groups.of('zero');
      await array.discard({ begin: zero, end: zeroEnd });
      content.fill(0, zero, zeroEnd);
      // All that the CPU touches is at home alone, or there and on the peer.
      for (const name of ['none', 'read', 'written', 'peer']) {
        const { begin, end } = groups.of(name);
        for (let at = begin; at < end; at++)
          if (name === 'peer') equal('word', array.data[at], content[at]);
          else content[at] = array.data[at] ^= 0x55;
      }
      await array.protect('none', groups.of('none'));
      await array.protect('read', groups.of('read'));
      array.free(groups.of('hole'));

      const moved = watch();
      for (const name of names) {
        const { begin: from, end } = groups.of(name);
        const code = { none: 'ACCESS_DENIED', hole: 'USE_AFTER_FREE' }[name];
        if (code !== undefined)
          await refused(`a prefetch of ${name}`, code, () => prefetch(array, one, from, end));
        else
          equal(
            `bytes of ${name} that are there`,
            await prefetch(array, one, from, end),
            groupBytes,
          );
      }
      equal('bytes copied to it', moved(one).bytesIn, 4 * groupBytes);
      equal('bytes made there', moved(one).bytesZeroed, groupBytes);
      await refused('a prefetch of all of it', 'USE_AFTER_FREE', () => prefetch(array, one));
      equal('bytes on it', array.residency().bytes[one.name], 5 * groupBytes);
      await array.protect('readwrite', groups.of('none'));
      groups.same(array, content);
    },
  },
  {
    name: 'snapshot',
    devices: 2,
    holds:
      'residency() tells seven kinds of pages apart: protected, freed, zero, read-only, written, on either device; and moves nothing',
    run: async ({ space, words, prefetch, watch }) => {
      const [one, two] = space.devices;
      const names = ['none', 'hole', 'zero', 'read', 'written', 'own', 'peer'];
      const groups = new Groups(names, groupBytesOf(space.devices));
      const array = words(names.length * groups.words);
      const content = pattern(array.length, 0x51ab_0096);
      const part = (name: string) => groups.of(name);
      for (const name of names) {
        const { begin, end } = part(name);
        if (name === 'zero') content.fill(0, begin, end);
        else array.data.set(content.subarray(begin, end), begin);
      }
      // A touch at a border may have brought neighbours along.
      await array.discard(part('zero'));
      await prefetch(array, one, part('own').begin, part('own').end);
      await prefetch(array, two, part('peer').begin, part('peer').end);
      await array.protect('none', part('none'));
      await array.protect('read', part('read'));
      array.free(part('hole'));

      const moved = watch();
      const told = new Map<string, string>();
      for (const name of names) {
        const { begin, end } = part(name);
        const kinds = new Set(
          array
            .residency({ begin, end })
            .runs.map(({ state, nodes, rights, access }) =>
              JSON.stringify([state, nodes, rights, access]),
            ),
        );
        equal(`kinds of pages of ${name}: ${[...kinds].join(' and ')}`, kinds.size, 1);
        told.set(name, [...kinds][0]);
      }
      equal(`kinds of pages: ${[...told].join('; ')}`, new Set(told.values()).size, names.length);
      const says = (name: string, text: string): void =>
        holds(
          `${name} is told as ${text}: ${told.get(name)}`,
          told.get(name)?.includes(text) === true,
        );
      says('none', '"none"');
      says('hole', '"freed"');
      says('zero', '"zero"');
      says('read', '"read"');
      says('written', '"host":"write"');
      says('own', one.name);
      says('peer', two.name);
      for (const processor of ['host', one, two] as const) {
        const { bytesIn, bytesZeroed, readFaults, writeFaults } = moved(processor);
        equal('what moved or was touched', bytesIn + bytesZeroed + readFaults + writeFaults, 0);
      }
      await array.protect('readwrite', part('none'));
      groups.same(array, content);
    },
  },
  {
    name: 'pin_while_on_device',
    devices: 1,
    holds:
      'pages on the device come home to be pinned, whole; while a pin lasts they stay, and the device may read them and not write',
    run: async ({ device, words, prefetch }) => {
      const array = words(4 * WORDS_PER_PAGE);
      const { byteLength: bytes } = array;
      let content = await onDevice(device, array, 0x51ab_009a);
      const page = { begin: WORDS_PER_PAGE, end: 2 * WORDS_PER_PAGE };
      const run = (seed: number, part: Partial<typeof page> = {}): Promise<void> =>
        device.run(mix, { data: array, seed }, { size: array.length, ...part });
      const isPinned = (): string =>
        array
          .residency()
          .runs.map(({ pinned }) => pinned)
          .join();

      const short = await array.pin();
      equal('bytes at home', array.residency().bytes.host, bytes);
      equal('whether it is pinned', isPinned(), 'true');
      short.unpin();
      equal('whether it is pinned afterwards', isPinned(), 'false');
      same('the data after a short pin', array.data, content);
      await run(1);
      content = mixed(content, 1);
      equal('bytes at home after the device wrote', array.residency().bytes.host, undefined);

      const long = await array.pin();
      const other = await array.pin(page);
      await prefetch(array, device);
      same('what the device reads', await seenBy(device, array), content);
      await refused('a launch that writes it', 'PINNED', () => run(2));
      await refused('a discard', 'PINNED', () => array.discard());
      equal('bytes at home all the time', array.residency().bytes.host, bytes);
      for (let i = 0; i < array.length; i++) content[i] = array.data[i] ^= 0x33;
      same('what the device reads after the CPU wrote', await seenBy(device, array), content);
      same('the data while it is pinned', array.data, content);
      long.unpin();
      equal('whether it is pinned while one pin is left', isPinned(), 'false,true,false');
      await refused('a launch that writes it while one pin is left', 'PINNED', () => run(2, page));
      same('the data when a launch was refused', array.data, content);
      other.unpin();
      await run(3);
      same('the data after the launch that was refused before', array.data, mixed(content, 3));
    },
  },
  {
    name: 'migrate_discarded',
    devices: 1,
    holds: 'what was discarded migrates without a copy, there and back, and reads as zeros',
    run: async ({ device, words, prefetch, watch }) => {
      const zeros = new Uint32Array(BUFFER_WORDS);
      const array = words();
      array.data.set(pattern(BUFFER_WORDS, 0x51ab_0098));
      await array.discard();
      const there = watch();
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      equal('bytes copied there', there(device).bytesIn, 0);
      same('what the device reads', await seenBy(device, array), zeros);
      same('what the CPU reads', array.data, zeros);

      const content = await onDevice(device, array, 0x51ab_0099);
      const [begin, end] = [BUFFER_WORDS / 4, (BUFFER_WORDS / 4) * 3];
      await array.discard({ begin, end });
      content.fill(0, begin, end);
      const back = watch();
      equal('bytes that are home', await prefetch(array, 'host'), BUFFER_BYTES);
      equal('bytes copied home', back('host').bytesIn, BUFFER_BYTES / 2);
      same('what the CPU reads where half was discarded', array.data, content);
      await mixOn(device, array, 6);
      same('what comes of it', array.data, mixed(content, 6));
    },
  },
];
