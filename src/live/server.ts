/**
 * The web server of a running program: on 127.0.0.1, for those who have its address. The address
 * has a random token. A name of another site that leads to this machine is refused (DNS rebinding),
 * and nothing of the request names a file.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Detail } from '../trace/picture/picture.js';
import { type Frame, type Page, pageOf } from './page.js';
import type { PointsFrame, PointsSummary } from './points.js';

const HOST = '127.0.0.1';
/** Names of this machine that its browsers use. Ports differ behind a tunnel. */
const OWN_NAMES = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i;
const TOKEN_BYTES = 18;
const MOST_CONNECTIONS = 64;
/** A browser that says nothing for so long is not waited for. */
const SILENT_MS = 10_000;

/** What the server tells of a run. */
export interface Source {
  readonly title: string;
  /** @param since the version of the last frame, or empty */
  frame(since: string): Promise<Frame>;
  /** Moves at a row of the map, or at all (-1), those next to a time. */
  moves(row: number, atMs: number): readonly Detail[];
  /** In the text format of Prometheus. */
  metrics(): string;
  /** What the page may draw as points. */
  pointSets(): readonly PointsSummary[];
  /** Null: there is no such set. */
  points(set: number): Promise<PointsFrame | null>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Of every answer, also of refusals. */
const HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';

export class LiveServer {
  private readonly token = randomBytes(TOKEN_BYTES).toString('base64url');
  private readonly page: Page;
  private readonly server: Server;
  private port = 0;

  constructor(private readonly source: Source) {
    this.page = pageOf(source.title, null);
    this.server = createServer((request, response) => void this.serve(request, response));
    this.server.maxConnections = MOST_CONNECTIONS;
    this.server.headersTimeout = SILENT_MS;
    this.server.requestTimeout = SILENT_MS;
  }

  /** @param port 0: any that is free. Rejects with the system's error. */
  async listen(port: number): Promise<string> {
    await new Promise<void>((listening, failed) => {
      this.server.once('error', failed);
      this.server.listen(port, HOST, listening);
    });
    ({ port: this.port } = this.server.address() as AddressInfo);
    return `http://${HOST}:${this.port}/${this.token}/`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    let answer: Answer;
    try {
      answer = refusalOf(request) ?? (await this.answer(request.url ?? ''));
    } catch (error) {
      // The space was closed, or what moved cannot be told.
      answer = text(503, `${(error as Error).message}\n`);
    }
    const { status, type, body, headers = {} } = answer;
    const bytes = Buffer.from(body);
    response.writeHead(status, {
      ...HEADERS,
      ...headers,
      'Content-Type': type,
      'Content-Length': bytes.length,
    });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }

  private async answer(target: string): Promise<Answer> {
    // The text is compared as it came: what is no path of ours is nothing.
    const [path, query = ''] = target.split('?', 2);
    const [empty, token = '', ...rest] = path.split('/');
    if (empty !== '' || !sameText(token, this.token)) return NOTHING;
    const said = new URLSearchParams(query);
    switch (rest.join('/')) {
      case '':
        if (rest.length === 0) return moved(`/${this.token}/`);
        return this.pageAnswer();
      case 'picture':
        return json(await this.source.frame(said.get('since') ?? ''));
      case 'moves':
        return json(this.source.moves(Number(said.get('row')), Number(said.get('ms'))));
      case 'points':
        return json(this.source.pointSets());
      case 'elements': {
        const frame = await this.source.points(Number(said.get('set') ?? NaN));
        return frame === null ? NOTHING : json(frame);
      }
      case 'metrics':
        return {
          status: 200,
          type: 'text/plain; version=0.0.4; charset=utf-8',
          body: this.source.metrics(),
        };
      default:
        return NOTHING;
    }
  }

  private pageAnswer(): Answer {
    const headers = {
      'Content-Security-Policy': `${this.page.policy}; frame-ancestors 'none'`,
    };
    return { status: 200, type: 'text/html; charset=utf-8', body: this.page.html, headers };
  }
}

const NOTHING = text(404, 'There is no such page. The address with its token is needed.\n');

function text(status: number, body: string): Answer {
  return { status, type: TEXT, body };
}

function json(value: unknown): Answer {
  return { status: 200, type: JSON_TYPE, body: JSON.stringify(value) };
}

function moved(to: string): Answer {
  return { ...text(308, `The page is at ${to}\n`), headers: { Location: to } };
}

function refusalOf({ method, headers }: IncomingMessage): Answer | null {
  if (!OWN_NAMES.test(headers.host ?? ''))
    return text(421, 'This server answers to 127.0.0.1 and localhost only.\n');
  const { origin } = headers;
  if (origin !== undefined && !OWN_NAMES.test(origin.replace(/^http:\/\//, '')))
    return text(403, 'Pages of other sites get nothing here.\n');
  if (method === 'GET' || method === 'HEAD') return null;
  return { ...text(405, 'GET and HEAD only.\n'), headers: { Allow: 'GET, HEAD' } };
}

/** In a time that does not tell how much of the two is the same. */
function sameText(one: string, other: string): boolean {
  const [a, b] = [one, other].map((each) => createHash('sha256').update(each).digest());
  return timingSafeEqual(a, b);
}
