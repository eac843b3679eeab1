/** `onemem doctor`: what this machine offers, and what to do about what it does not. */

import { closeSync } from 'node:fs';
import { usualHostMemory } from '../../api/options/host-memory.js';
import { usualStorage } from '../../api/options/storage.js';
import { readText } from '../../linux/base/text-files.js';
import { type Feature, probeFeatures, remediesOf } from '../../linux/features.js';
import { interruptedCpu } from '../../linux/files/disk-interrupts.js';
import { idleFeature } from '../../linux/idle-cpus.js';
import { openTrigger, pressureFile } from '../../linux/memory/pressure.js';
import { memoryGroups } from '../../linux/memory/system-memory.js';
import { defineCommand } from '../terminal/command.js';
import { print } from '../terminal/output.js';
import { EXPLAINED, explainCode } from './explain-code.js';
import { gpuFeature } from './gpu.js';

export const command = defineCommand({
  name: 'doctor',
  usage: '[OPTIONS]',
  summary: 'tell whether onemem works here, and the remedy for each missing feature',
  text: `The first line says whether onemem works on this machine. A line for each feature follows: page
faults, write protection, poisoned and huge pages, limits of memory, addresses, idle CPUs of virtual
machines, storage, a GPU. It changes nothing. It ends with 1 if a required feature is missing.

  --json          the list as JSON, for programs
  --explain CODE  what an error of a system call means, and what to do: ${EXPLAINED}
  -h, --help

Examples
  onemem doctor --explain EFAULT
  onemem doctor
  onemem doctor --json | jq '.features[] | select(.available | not)'`,
  options: {
    json: { type: 'boolean' },
    explain: { type: 'string' },
  },
  async main(values) {
    if (values.explain !== undefined) {
      print(explainCode(values.explain));
      return 0;
    }
    const idle = idleFeature();
    const features = [
      ...probeFeatures(),
      ...(idle === null ? [] : [idle]),
      followedFeature(),
      storageFeature(),
    ];
    features.push(await gpuFeature());
    const missing = features.filter((each) => each.required && !each.available);
    if (values.json)
      print(
        JSON.stringify({ usable: missing.length === 0, node: process.versions.node, features }),
      );
    else print([...verdict(features, missing), '', ...table(features)].join('\n'));
    if (missing.length === 0) return 0;
    if (values.json) console.error(`onemem: ${wrong(missing)}`);
    return 1;
  },
});

function namesOf(features: readonly Feature[]): string {
  return features.map(({ name }) => name).join(', ');
}

function wrong(missing: readonly Feature[]): string {
  return `onemem does not work here, because this is missing: ${namesOf(missing)}`;
}

/** Whether onemem works here, and which features are absent that it can do without. */
function verdict(features: readonly Feature[], missing: readonly Feature[]): string[] {
  const { node } = process.versions;
  if (missing.length > 0) return [`${wrong(missing)}. Each remedy is below.`];
  const absent = features.filter(({ available }) => !available);
  const works = `onemem works here (Node.js ${node}, ${process.arch}).`;
  return absent.length === 0 ? [works] : [works, `Absent, and not needed: ${namesOf(absent)}.`];
}

/** What `hostMemory: 'auto'` follows. */
function followedFeature(): Feature {
  const file = pressureFile(memoryGroups(), readText);
  const trigger = file === null ? null : openTrigger(file);
  if (trigger !== null) closeSync(trigger);
  const begins = `begins with ${(usualHostMemory() / 2 ** 30).toFixed(1)} GiB`;
  const how = trigger === null ? 'looked at twice a second' : 'which the kernel tells of';
  return {
    name: "hostMemory: 'auto'",
    available: file !== null,
    required: false,
    detail:
      file === null
        ? `${begins}, and follows what is left; threads that wait for memory are not counted`
        : `${begins}, and follows what is left, and pressure (${file}, ${how})`,
    remedy: file === null ? 'a kernel with CONFIG_PSI, started with psi=1' : null,
  };
}

/** Where arrays go that are larger than host memory, unless a program says otherwise. */
function storageFeature(): Feature {
  const storage = usualStorage();
  const cpu = storage === null ? null : interruptedCpu(storage.path);
  const where =
    cpu === null ? '' : `; its disk interrupts CPU ${cpu}, the best one to bindThread to`;
  return {
    name: 'storage for what memory has no room for',
    available: storage !== null,
    required: false,
    detail:
      storage === null
        ? 'no temporary folder is on a disk'
        : `${storage.path}, at most ${(storage.bytes / 2 ** 30).toFixed(1)} GiB (half of what is free)${where}`,
    remedy:
      storage === null
        ? "openSpace({ storage: { path: '/a/folder/on/a/disk' } }), or set TMPDIR to such a folder"
        : null,
  };
}

function table(features: readonly Feature[]): string[] {
  const width = Math.max(...features.map(({ name }) => name.length));
  return features.flatMap((feature) => {
    const { name, available, required, detail } = feature;
    const mark = available ? 'ok     ' : required ? 'MISSING' : 'absent ';
    const line = `${mark}  ${name.padEnd(width)}  ${detail}`;
    return [line, ...remediesOf(feature).map((each) => `${' '.repeat(11 + width)}${each}`)];
  });
}
