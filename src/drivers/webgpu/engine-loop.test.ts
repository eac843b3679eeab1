import { expect, test } from 'vitest';
import { createSocketPair, MessageSocket } from '../../linux/socket.js';
import { runEngineLoop } from './engine-loop.js';

/** How the loop treats its work for so many milliseconds; at the end the other side goes. */
async function run(ms: number, isBusy: boolean, act: (other: MessageSocket) => void = () => undefined) {
  const [ours, theirs] = createSocketPair();
  const [socket, other] = [new MessageSocket(ours), new MessageSocket(theirs)];
  const taken: number[][] = [];
  let events = 0;
  let turns = 0;
  await new Promise<void>((resolve) => {
    const until = performance.now() + ms;
    const count = (): void => {
      turns++;
      if (turns === 1) act(other);
      if (performance.now() < until) setImmediate(count);
      else other.close();
    };
    setImmediate(count);
    runEngineLoop(socket, {
      isBusy,
      get events() {
        return events;
      },
      take: (packet) => {
        events++;
        taken.push([...packet]);
      },
      closed: resolve,
    });
  });
  socket.close();
  return { taken, turns };
}

test('while something is under way turns follow, ever more seldom', async () => {
  const { turns } = await run(200, true);
  expect(turns).toBeGreaterThan(5);
  expect(turns).toBeLessThan(400);
});

test('packets are taken in their order, and wake a loop that has nothing to do', async () => {
  const { taken, turns } = await run(20, false, (other) => {
    other.send(Uint8Array.of(1, 2));
    other.send(Uint8Array.of(3));
  });
  expect(taken).toEqual([[1, 2], [3]]);
  expect(turns).toBeLessThan(10);
});
