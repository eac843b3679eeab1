/** The picture of a space that goes on. */
import type { Client } from '../api/line/client.js';
import { MovesText } from '../trace/moves-text.js';
import { type Detail, PictureBuilder } from '../trace/picture.js';
import { type Frame, frameOf } from './page.js';

/** Moves that a click lists. */
const LISTED = 30;

export class Following {
  private builder = new PictureBuilder();
  private text = this.textOf(this.builder);
  private nowMs = 0;
  /** How often it began anew, since moves were lost. */
  private begun = 0;
  private asking: Promise<void> | null = null;

  private constructor(
    private readonly client: Client,
    private readonly id: number,
  ) {}

  static async start(client: Client): Promise<Following> {
    const { id } = await client.request('follow', null);
    return new Following(client, id);
  }

  /** Several may ask at a time. */
  update(): Promise<void> {
    this.asking ??= this.ask().finally(() => {
      this.asking = null;
    });
    return this.asking;
  }

  async frame(since: string): Promise<Frame> {
    await this.update();
    const prefix = `${this.begun}/`;
    const known = since.startsWith(prefix) ? since.slice(prefix.length) : '';
    const frame = frameOf(this.builder.picture(known, this.nowMs));
    return { ...frame, version: prefix + frame.version };
  }

  moves(row: number, atMs: number): Detail[] {
    return this.builder
      .details(row)
      .sort((a, b) => Math.abs(a.atMs - atMs) - Math.abs(b.atMs - atMs))
      .slice(0, LISTED);
  }

  end(): void {
    this.client.tell('unfollow', { id: this.id });
  }

  private async ask(): Promise<void> {
    const { text, nowMs } = await this.client.request('tail', { id: this.id });
    if (text === null) {
      this.builder = new PictureBuilder();
      this.text = this.textOf(this.builder);
      this.begun++;
    } else this.text.read(text);
    this.nowMs = this.text.sinceBegin(nowMs);
  }

  private textOf({ reader }: PictureBuilder): MovesText {
    return new MovesText(reader, 'what the space tells');
  }
}
