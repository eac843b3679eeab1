/** Runs scenarios in this process: each in a space of its own, after which nothing may be left. */
import { mkdtempSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpace } from '../index.js';
import { BLOCK_BYTES, Context } from './context.js';
import type { DeviceKind, Wanted } from './device-kind.js';
import { leftBehind, resources } from './resources.js';
import type { Result, Scenario } from './suite.js';

const DEVICE_BYTES = 16 * BLOCK_BYTES;
const HOST_BYTES = 16 * BLOCK_BYTES;

/** Lets the runtime start what it starts once and keeps, such as its pool of threads. */
export async function warmUp(kind: DeviceKind): Promise<void> {
  await stat('/');
  const options = kind.open({ devices: 1, memoryBytes: DEVICE_BYTES });
  if ('skip' in options) return;
  const space = await openSpace(options);
  await space.close();
}

/** @param note takes what a reader of the results should know besides them */
export async function runScenario(
  kind: DeviceKind,
  scenario: Scenario,
  note: (text: string) => void = () => undefined,
): Promise<Result> {
  const {
    name,
    devices,
    refuseLargerThanPages,
    memoryBytes = DEVICE_BYTES,
    slowMemoryBytes,
    checkInvariants = true,
  } = scenario;
  const wanted: Wanted = { devices, memoryBytes, refuseLargerThanPages };
  const options = kind.skips?.[name] === undefined ? kind.open(wanted) : { skip: kind.skips[name] };
  if ('skip' in options)
    return { scenario: name, device: kind.name, result: 'skip', why: options.skip };
  const problems: string[] = [];
  const attempt = async (what: string, step: () => unknown): Promise<void> => {
    try {
      await step();
    } catch (error) {
      problems.push(`${what}${describe(error)}`);
    }
  };
  const behindHost =
    slowMemoryBytes === undefined
      ? {}
      : { hostMemory: HOST_BYTES, storage: false, slowMemory: { bytes: slowMemoryBytes } };
  const before = resources();
  await attempt('', async () => {
    const space = await openSpace({ ...options, ...behindHost, checkInvariants });
    const folder = mkdtempSync(join(tmpdir(), 'onemem-conformance-'));
    await attempt('', () => scenario.run(bound(new Context(kind, space, before, folder, note))));
    await attempt('invariants: ', () => {
      if (!space.isClosed) space.checkInvariants();
    });
    await attempt('closing: ', () => space.close());
    rmSync(folder, { recursive: true });
  });
  const left = await leftBehind(before);
  if (left.length > 0) problems.push(`left behind: ${left.join(', ')}`);
  return {
    scenario: name,
    device: kind.name,
    result: problems.length === 0 ? 'pass' : 'fail',
    why: problems.join('; '),
  };
}

/** Scenarios take helpers by name, which would lose their object. */
function bound(context: Context): Context {
  return new Proxy(context, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** One line, with the place in a scenario where it happened. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: string };
  const prefix = code === undefined || code === 'ERR_ASSERTION' ? '' : `${code}: `;
  const place = /scenarios\/(?!common)[a-z]+\.[jt]s:\d+/.exec(error.stack ?? '');
  const cause = error.cause === undefined ? '' : `, because of ${describe(error.cause)}`;
  return `${prefix}${error.message.replace(/\n\s*/g, ' ')}${cause}${place === null ? '' : ` (${place[0]})`}`;
}
