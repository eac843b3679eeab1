/**
 * A kind of device is a folder of drivers/ and its line in two tables: how its drivers are made
 * (pager/devices/drivers.ts) and what programs may say of it (api/options/described-devices.ts).
 * Nothing else asks for a kind by name, nor for the host by its number.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SOURCES = fileURLToPath(new URL('..', import.meta.url));

/** Files that may name kinds, each with its reason. */
const NAMES_KINDS: Readonly<Record<string, string>> = {
  'api/options/device-specification.ts': 'the words that programs write',
  'api/options/described-devices.ts': 'the table of rules; an example in a message',
  'api/options/webgpu-device.ts': 'the rules of that kind; an example in a message',
  'pager/protocol/space.ts': 'the words that the manager is told',
  'testing/kinds.ts': 'the table of the conformance suite',
};

const KIND = /'(process|simulated|webgpu|custom)'/;
const COMPARES_WITH_HOST = /[!=]==? HOST\b|\bHOST [!=]==?|case HOST\b/;

/** Lines of code outside of these places, as 'file: line'. */
function linesWith(pattern: RegExp, isLeftOut: (file: string) => boolean): string[] {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !isLeftOut(file),
  );
  return files.flatMap((file) =>
    readFileSync(`${SOURCES}/${file}`, 'utf8')
      .split('\n')
      .filter((line) => pattern.test(line) && !/^\s*(\*|\/[/*])/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
}

it('has no branch on the kind of a device outside of its driver', () => {
  const found = linesWith(KIND, (file) => file.startsWith('drivers/') || file in NAMES_KINDS);
  expect(found).toEqual([]);
});

it('lists no file that names no kind', () => {
  const files = new Set(linesWith(KIND, () => false).map((line) => line.split(':')[0]));
  expect(Object.keys(NAMES_KINDS).filter((file) => !files.has(file))).toEqual([]);
});

it('asks by name whether a processor owns the space', () => {
  const found = linesWith(COMPARES_WITH_HOST, (file) => file === 'core/basics/types.ts');
  expect(found).toEqual([]);
});
