/** Which frames of a store have content. */
export class WrittenFrames {
  /** Frames that have been written and not given back. */
  count = 0;
  private readonly parts: Uint8Array[] = [];

  note(frame: number, count: number): void {
    for (let each = frame; each < frame + count; each++) {
      const part = (this.parts[each >>> 16] ??= new Uint8Array(2 ** 16));
      this.count += 1 - part[each & 0xffff];
      part[each & 0xffff] = 1;
    }
  }

  /** Whether any of these frames has ever been written; none has after this. */
  forget(frame: number, count: number): boolean {
    const before = this.count;
    for (let each = frame; each < frame + count; each++) {
      const part = this.parts[each >>> 16];
      if (part === undefined) continue;
      this.count -= part[each & 0xffff];
      part[each & 0xffff] = 0;
    }
    return this.count < before;
  }
}
