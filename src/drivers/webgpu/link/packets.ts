/**
 * Packets between a GPU's driver and its engine: one kind byte, then JSON, which has words for all
 * that is said here: no numbers but finite ones.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function jsonPacket(kind: number, value: unknown): Uint8Array {
  const text = encoder.encode(JSON.stringify(value));
  const packet = new Uint8Array(text.length + 1);
  packet[0] = kind;
  packet.set(text, 1);
  return packet;
}

export function readJson<T>(packet: Uint8Array): T {
  return JSON.parse(decoder.decode(packet.subarray(1))) as T;
}
