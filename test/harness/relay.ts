/**
 * What lies between programs and a server: connections by it can be cut, and answers kept from
 * programs.
 */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Relay implements AsyncDisposable {
  private readonly programs = new Set<Socket>();
  private readonly server: Server;
  /** Said by a program, it keeps all that the server says from then on. */
  private word: string | null = null;

  private constructor(
    private readonly socket: string,
    private readonly path: string,
  ) {
    this.server = createServer((program) => this.join(program));
  }

  /** @param socket that the server listens on */
  static async start(socket: string): Promise<Relay> {
    const relay = new Relay(socket, `${socket}.relay`);
    await once(relay.server.listen(relay.path), 'listening');
    return relay;
  }

  get url(): string {
    return `unix://${this.path}`;
  }

  /**
   * Once a program has said the word, which the server hears, it hears nothing more by this
   * connection.
   */
  keepAnswersAfter(word: string): void {
    this.word = word;
  }

  /** Ends all connections. Those that come later are whole. */
  cut(): void {
    this.word = null;
    for (const program of this.programs) program.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }

  private join(program: Socket): void {
    const server = connect(this.socket);
    let isDeaf = false;
    this.programs.add(program);
    program.on('data', (said) => {
      isDeaf ||= this.word !== null && said.includes(this.word);
      server.write(said);
    });
    server.on('data', (said) => {
      if (!isDeaf) program.write(said);
    });
    for (const [one, other] of [
      [program, server],
      [server, program],
    ]) {
      one.on('error', () => undefined);
      one.on('close', () => {
        this.programs.delete(program);
        other.destroy();
      });
    }
  }
}
