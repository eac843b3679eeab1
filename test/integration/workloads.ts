/** The workloads of the evaluation compute right on a device with less memory than they use. */

import { WORKLOADS } from '../../bench/workloads/all.js';
import { runOn, runPlain } from '../../bench/workloads/workload.js';
import { sharedSpace } from '../harness/spaces.js';
import { longTest, runTests, test } from '../harness/suite.js';

const BYTES = 12 * 2 ** 20;
const QUICK = ['hash-join', 'dnn'];

for (const { name, make } of WORKLOADS)
  (QUICK.includes(name) ? test : longTest)(
    `${name} is right on a device with less memory than it uses`,
    async () => {
      const work = make(BYTES);
      const expected = runPlain(work);
      work.known?.(expected);
      await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
      await runOn(space, space.devices[0], work, expected);
    },
  );

await runTests();
