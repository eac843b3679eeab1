import { beforeEach, expect, test } from 'vitest';
import { CONTROL_WORDS } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import { Recording } from '../options/recording.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { OnememError } from '../values/errors.js';
import { Client } from './client.js';

/** Ends the manager, in the middle of a wait. */
let dies: (loss: OnememError) => void;
let client: Client;

beforeEach(() => {
  const handle = { control: new SharedArrayBuffer(4 * CONTROL_WORDS) } as unknown as SpaceHandle;
  client = new Client(handle, true, (_listener, lost) => {
    dies = lost;
    return {
      thread: 1,
      raised: 0,
      post: () => undefined,
      take: () => undefined,
      wait: () => {
        dies(new OnememError('SPACE_CLOSED', 'process 7 has ended'));
        return false;
      },
      keepLoop: () => undefined,
      close: () => undefined,
    };
  });
});

test('a call says that the manager ends meanwhile', () => {
  expect(() => client.call('unpin', { pin: 1 })).toThrow('unpin: process 7 has ended');
});

test('what the end of the space brings, too, is through when the manager ends meanwhile', () => {
  client.callUnlessClosed('unpin', { pin: 1 });
  expect(client.isClosed).toBe(true);
  client.callUnlessClosed('unpin', { pin: 1 });
});

test('so is what is waited for', async () => {
  const end = () => {
    const asked = client.request('unguard', { range: 1 });
    dies(new OnememError('SPACE_CLOSED', 'process 7 has ended'));
    return asked;
  };
  await client.awaitUnlessClosed(end);
  expect(client.isClosed).toBe(true);
  await client.awaitUnlessClosed(end);
});

test('a recording is through when the manager ends meanwhile', async () => {
  const recording = new Recording(client, 1, '/tmp/run.rec');
  const ended = recording[ASYNC_DISPOSE]();
  dies(new OnememError('SPACE_CLOSED', 'process 7 has ended'));
  await ended;
  await expect(recording.stop()).rejects.toThrow('process 7 has ended');
});
