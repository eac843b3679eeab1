/** The picture of a space that goes on. */
import { type Detail, PictureBuilder } from '../trace/picture/picture.js';
import { type Frame, frameOf } from './page.js';
import { type Asker, Tail } from './tail.js';

/** Moves that a click lists. */
const LISTED = 30;

export class Following {
  private constructor(private readonly tail: Tail<PictureBuilder>) {}

  static async start(client: Asker): Promise<Following> {
    return new Following(await Tail.of(client, () => new PictureBuilder()));
  }

  update(): Promise<void> {
    return this.tail.update();
  }

  async frame(since: string): Promise<Frame> {
    await this.update();
    const { teller, nowMs, begun } = this.tail;
    const prefix = `${begun}/`;
    const known = since.startsWith(prefix) ? since.slice(prefix.length) : '';
    const frame = frameOf(teller.picture(known, nowMs));
    return { ...frame, version: prefix + frame.version };
  }

  moves(row: number, atMs: number): Detail[] {
    return this.tail.teller
      .details(row)
      .sort((a, b) => Math.abs(a.atMs - atMs) - Math.abs(b.atMs - atMs))
      .slice(0, LISTED);
  }

  end(): void {
    this.tail.end();
  }
}
