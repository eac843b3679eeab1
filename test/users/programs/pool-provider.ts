/** Providers that read a file in several ways. */
import { openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FillRequest } from '../../../src/index.js';

type Request = FillRequest<{ path: string }>;

export async function byPool({ bytes, byteOffset, data }: Request): Promise<void> {
  const file = await open(data.path);
  await file.read(bytes, 0, bytes.length, byteOffset);
  await file.close();
}

export function byThread({ bytes, byteOffset, data }: Request): void {
  readSync(openSync(data.path, 'r'), bytes, 0, bytes.length, byteOffset);
}

/** As from a network. */
export async function slowly(request: Request): Promise<void> {
  await sleep(800);
  byThread(request);
}
