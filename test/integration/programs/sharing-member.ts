/**
 * A program that shares blocks: `count` adds to words of a block, `own` writes one block, flushes
 * that, writes on, and stays.
 */
import { PlainBlocks } from '../../harness/plain-blocks.js';

const [what, url, name, leaseMs, word, times] = process.argv.slice(2);
const blocks = new PlainBlocks({ urls: [url], name, blocks: 2, leaseMs: Number(leaseMs) });

if (what === 'count') {
  for (let n = 0; n < Number(times); n++) {
    await blocks.with(0, 'write', (words) => {
      words[0]++;
      words[Number(word)]++;
    });
  }
  if (!(await blocks.member.close())) throw new Error('not all was flushed');
  console.log(`lost ${blocks.lostBlocks.length}`);
} else {
  await blocks.with(0, 'write', (words) => words.fill(1));
  if (!(await blocks.flush(0))) throw new Error('not flushed');
  await blocks.with(0, 'write', (words) => words.fill(2));
  console.log('owns');
  while (blocks.lostBlocks.length === 0) await blocks.change();
  console.log(`lost ${blocks.lostBlocks.join(' ')}`);
  console.log(`reads ${await blocks.with(0, 'read', (words) => words[0])}`);
  await blocks.member.close();
}
