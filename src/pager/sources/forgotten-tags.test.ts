import { expect, it } from 'vitest';
import { ForgottenTags, tagOf } from './forgotten-tags.js';

it('has 2 MiB of frames share a tag, and the next ones another', () => {
  expect([0, 31, 32, 32 * 256].map(tagOf)).toEqual([0, 0, 1, 0]);
});

it('has the thread wait until the manager has heard what each connection found', async () => {
  const thread = new ForgottenTags();
  const manager = new ForgottenTags(thread.buffer);
  const heard: (readonly number[])[] = [];
  const hear = (): void => manager.hear((tags) => heard.push(tags));
  hear();
  const order: string[] = [];
  const told = [
    thread.tell([0, 31, 255], () => order.push('woken')).then(() => order.push('first')),
    thread.tell([7], () => order.push('woken')).then(() => order.push('second')),
  ];
  await expect.poll(() => order).toEqual(['woken']);
  hear();
  await told[0];
  await expect.poll(() => order.length).toBe(3);
  hear();
  await told[1];
  expect(heard).toEqual([[0, 31, 255], [7]]);
  expect(order.at(-1)).toBe('second');
});
