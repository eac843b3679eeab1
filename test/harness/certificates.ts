/** Certificates of a test's own, made by openssl, and gone with its process. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  /** Paths of what the server shows and what it keeps to itself. */
  readonly cert: string;
  readonly key: string;
  /** By which others believe it. */
  readonly ca: Buffer;
}

/**
 * A certificate that is signed by itself; null where there is no openssl.
 *
 * @param names what it is for, as `IP:127.0.0.1` or `DNS:localhost`
 */
export function certificateFor(...names: readonly string[]): Certificate | null {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-certificate-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  const about = ['-subj', '/CN=onemem', '-addext', `subjectAltName=${names.join(',')}`];
  const { status } = spawnSync('openssl', ['req', ...kind, '-keyout', key, '-out', cert, ...about]);
  return status === 0 ? { key, cert, ca: readFileSync(cert) } : null;
}

/**
 * Lines of the configuration of a server that speaks TLS on a port, and does not ask clients for a
 * certificate.
 */
export function tlsSettings(
  { cert, key }: Certificate,
  port: number,
): Record<string, string | number> {
  return {
    'tls-port': port,
    'tls-cert-file': cert,
    'tls-key-file': key,
    'tls-ca-cert-file': cert,
    'tls-auth-clients': 'no',
  };
}
