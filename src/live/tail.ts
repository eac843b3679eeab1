/** What a space tells of its moves, asked for again and again. */
import { MovesText } from '../trace/recording/moves-text.js';
import type { Reader } from '../trace/recording/reader.js';

/** A client of the space, or who looks at it from outside. */
export interface Asker {
  request(name: 'follow', value: null): Promise<{ readonly id: number }>;
  request(name: 'tail', value: { readonly id: number }): Promise<MovesSince>;
  tell(name: 'unfollow', value: { readonly id: number }): void;
}

interface MovesSince {
  readonly text: string | null;
  readonly nowMs: number;
}

/** Keeps what it likes of what the reader tells. */
interface Teller {
  readonly reader: Reader;
}

export class Tail<T extends Teller> {
  teller: T;
  nowMs = 0;
  /** How often it began anew, since moves were lost. */
  begun = 0;
  private text: MovesText;
  private asking: Promise<void> | null = null;

  private constructor(
    private readonly client: Asker,
    private readonly id: number,
    private readonly make: () => T,
  ) {
    this.teller = make();
    this.text = this.textOf(this.teller);
  }

  static async of<T extends Teller>(client: Asker, make: () => T): Promise<Tail<T>> {
    const { id } = await client.request('follow', null);
    return new Tail(client, id, make);
  }

  /** Several may ask at a time. */
  update(): Promise<void> {
    this.asking ??= this.ask().finally(() => {
      this.asking = null;
    });
    return this.asking;
  }

  end(): void {
    this.client.tell('unfollow', { id: this.id });
  }

  private async ask(): Promise<void> {
    const { text, nowMs } = await this.client.request('tail', { id: this.id });
    if (text === null) {
      this.teller = this.make();
      this.text = this.textOf(this.teller);
      this.begun++;
    } else this.text.read(text);
    this.nowMs = this.text.sinceBegin(nowMs);
  }

  private textOf({ reader }: Teller): MovesText {
    return new MovesText(reader, 'what the space tells');
  }
}
