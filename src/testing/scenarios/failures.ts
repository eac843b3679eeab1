/** Memory that is not to be had, and devices that die. */
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUFFER_BYTES, BUFFER_WORDS, equal, holds, refused, same } from '../context.js';
import { pattern, write } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { mixOn, onDevice, seenBy, statesOf } from './common.js';

export const failures: readonly Scenario[] = [
  {
    name: 'migrate_alloc_failure',
    devices: 1,
    refuseLargerThanPages: 8,
    holds:
      'where large pieces of memory are refused, small ones do: all pages migrate, and come back',
    run: async ({ device, words, prefetch, watch }) => {
      const figures = watch();
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_0060);
      array.data.set(content);
      holds('the host was refused memory for what the CPU wrote', figures('host').refusals > 0);
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      holds('the device was refused memory', figures(device).refusals > 0);
      equal('bytes on the device', array.residency().bytes[device.name], BUFFER_BYTES);
      equal('bytes copied there', figures(device).bytesIn, BUFFER_BYTES);
      same('what the device read', await seenBy(device, array), content);

      // Memory that the host still has from before would not be refused: these arrays have never
      // been there.
      const [called, touched, detached] = [words(), words(), words()];
      const first = await onDevice(device, called, 0x51ab_0061);
      const second = await onDevice(device, touched, 0x51ab_0062);
      const third = await onDevice(device, detached, 0x51ab_0063);
      const back = async (what: string, bring: () => Promise<unknown>): Promise<void> => {
        const home = watch();
        await bring();
        holds(
          `the host was refused memory for what came home by ${what}`,
          home('host').refusals > 0,
        );
        equal(`bytes that came home by ${what}`, home('host').bytesIn, BUFFER_BYTES);
      };
      await back('one call', async () =>
        equal('bytes', await prefetch(called, 'host'), BUFFER_BYTES),
      );
      same('what came home by one call', called.data, first);
      await back('touching', async () => same('what came home by touching', touched.data, second));
      await back('detaching', () => device.detach());
      same('what came home by detaching', detached.data, third);
      same('what was at home all the time', array.data, content);
    },
  },
  {
    name: 'migrate_zero_alloc_failure',
    devices: 1,
    refuseLargerThanPages: 8,
    holds:
      'where large pieces of memory are refused, zero pages are made in small ones, there and at home',
    run: async ({ device, words, prefetch, watch }) => {
      const zeros = new Uint32Array(BUFFER_WORDS);
      const [untouched, read] = [words(), words()];
      const figures = watch();
      same('what the CPU reads first', read.data, zeros);
      holds('the host was refused memory', figures('host').refusals > 0);
      for (const [what, array] of Object.entries({ untouched, read })) {
        const there = watch();
        equal(
          `bytes of the ${what} array that are there`,
          await prefetch(array, device),
          BUFFER_BYTES,
        );
        holds(`the device was refused memory for the ${what} array`, there(device).refusals > 0);
        equal(`bytes made there for the ${what} array`, there(device).bytesZeroed, BUFFER_BYTES);
        equal(`bytes copied there for the ${what} array`, there(device).bytesIn, 0);
        same(`what the device read of the ${what} array`, await seenBy(device, array), zeros);
      }
      const back = watch();
      equal('bytes that are home', await prefetch(untouched, 'host'), BUFFER_BYTES);
      holds('the host was refused memory again', back('host').refusals > 0);
      equal('bytes copied home', back('host').bytesIn, 0);
      same('what the CPU reads of the untouched array', untouched.data, zeros);
      same('what the CPU reads of the other', read.data, zeros);
    },
  },
  {
    name: 'device_loss',
    devices: 2,
    holds:
      'what else has a copy survives a device that dies; the rest comes home, or is lost by name until it is overwritten',
    run: async ({ kind, space, words, prefetch, folder, until }) => {
      const [one, two] = space.devices;
      const [shared, only, other] = [words(), words(), words(BUFFER_WORDS - 100)];
      const content = pattern(BUFFER_WORDS, 0x51ab_0070);
      shared.data.set(content);
      await prefetch(shared, one);
      const onlyContent = await onDevice(one, only, 0x51ab_0071);
      const otherContent = await onDevice(one, other, 0x51ab_0072);
      one.kill();
      const dead = (): boolean =>
        space.stats().processors.some(({ name, alive }) => name === one.name && !alive);
      await until('the device counts as dead', dead);
      await until('its memory is given back', () => only.residency().bytes[one.name] === undefined);
      same('what had a copy at home', shared.data, content);
      same('the same on the other device', await seenBy(two, shared), content);
      await refused('a launch on the dead device', 'DEVICE_LOST', () => mixOn(one, shared, 1));

      const path = join(folder, 'words');
      const fd = openSync(path, 'w+');
      if (kind.memorySurvives) {
        same('what came home', only.data, onlyContent);
        same('what the other device reads', await seenBy(two, other), otherContent);
        equal('bytes written to a file', await other.writeTo(fd), other.byteLength);
        holds('the file is right', readFileSync(path).equals(new Uint8Array(otherContent.buffer)));
      } else {
        for (const array of [only, other]) {
          equal('the state', statesOf(array), 'lost');
          await refused('a launch that reads it', 'DATA_LOST', () => seenBy(two, array));
          await refused('a file written from it', 'DATA_LOST', () =>
            array.writeTo(fd, { position: 0 }),
          );
        }
      }
      closeSync(fd);

      await two.run(write, { data: only, seed: 0x51ab_0073 }, { size: BUFFER_WORDS });
      same(
        'an array that was overwritten by a launch',
        only.data,
        pattern(BUFFER_WORDS, 0x51ab_0073),
      );
      const fresh = pattern(other.length, 0x51ab_0074);
      writeFileSync(path, new Uint8Array(fresh.buffer));
      const source = openSync(path, 'r');
      equal('bytes read from a file', await other.readFrom(source), other.byteLength);
      closeSync(source);
      same('an array that was overwritten from a file', other.data, fresh);
      same('the same on the other device', await seenBy(two, other), fresh);
    },
  },
];
