import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameReader, MOST_FRAME_BYTES } from './frames.js';

const message = { id: 3, name: 'stats', value: { list: [1, 2.5, 'three'] } };

describe.each(['v8', 'json'] as const)('frames by %s', (codec) => {
  it('gives back a message that comes byte by byte', () => {
    const reader = new FrameReader(codec);
    const frame = encodeFrame(message, codec);
    for (const byte of frame.subarray(0, -1)) {
      reader.push(Uint8Array.of(byte));
      expect(reader.next()).toBeUndefined();
    }
    reader.push(frame.subarray(-1));
    expect(reader.next()).toEqual(message);
  });

  it('gives back several messages of one piece in order', () => {
    const reader = new FrameReader(codec);
    const frames = [0, 1, 2].map((id) => encodeFrame({ ...message, id }, codec));
    reader.push(Buffer.concat(frames));
    expect([reader.next(), reader.next(), reader.next(), reader.next()]).toEqual([
      { ...message, id: 0 },
      { ...message, id: 1 },
      { ...message, id: 2 },
      undefined,
    ]);
  });

  it('refuses a length that no message has', () => {
    const reader = new FrameReader(codec);
    const header = Buffer.alloc(4);
    header.writeUInt32LE(MOST_FRAME_BYTES + 1);
    reader.push(header);
    expect(() => reader.next()).toThrow(RangeError);
  });
});

it('keeps values apart from bytes that come later', () => {
  const reader = new FrameReader('v8');
  reader.push(encodeFrame({ data: new Uint8Array([1, 2, 3]) }, 'v8'));
  const { data } = reader.next() as { data: Uint8Array };
  for (let count = 0; count < 100; count++)
    reader.push(encodeFrame({ data: new Uint8Array(4096) }, 'v8'));
  expect([...data]).toEqual([1, 2, 3]);
});
