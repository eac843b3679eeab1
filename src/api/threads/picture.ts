/**
 * The thread that serves the live picture of a space. It has an event loop of its own, so that the
 * picture goes on while the program computes or waits in a fault.
 */
import { workerData } from 'node:worker_threads';
import { Following } from '../../live/following.js';
import { Points } from '../../live/points.js';
import type { FromLiveThread } from '../../live/protocol.js';
import { LiveServer } from '../../live/server.js';
import type { PictureThreadData } from '../objects/serve.js';
import { followSpace } from './follow-space.js';

/** How often to ask for moves that nobody looks at, and whether the space is open. */
const LOOK_MS = 250;

const { handle, port, title, points } = workerData as PictureThreadData;

await followSpace(handle, LOOK_MS, async (space) => {
  const following = await Following.start(space.client);
  const drawn = new Points(
    points.map(({ name, x, y }) => ({
      name,
      x: x === null ? null : space.attachArray(x),
      y: space.attachArray(y),
    })),
  );
  const server = new LiveServer({
    title,
    frame: (since) => following.frame(since),
    moves: (row, atMs) => following.moves(row, atMs),
    metrics: () => space.metrics(),
    pointSets: () => drawn.summaries,
    points: (set) => drawn.frame(set),
  });
  return {
    first: { url: await server.listen(port) } satisfies FromLiveThread,
    look: () => following.update(),
    end() {
      server.close();
      following.end();
    },
  };
});
