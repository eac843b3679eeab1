import { expect, test } from 'vitest';
import { jsonPacket, Packet, readJson } from './protocol.js';

test('every argument that a kernel may have survives the way to the device', () => {
  for (const value of [
    1.5,
    0,
    -0,
    Number.NaN,
    Infinity,
    -Infinity,
    2n ** 63n - 1n,
    -(2n ** 63n),
    'text',
    null,
  ]) {
    const packet = jsonPacket(Packet.Hello, { parameters: [{ value }] });
    expect(packet[0]).toBe(Packet.Hello);
    expect(readJson<{ parameters: { value: unknown }[] }>(packet).parameters[0].value).toBe(value);
  }
});
