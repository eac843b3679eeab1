import { expect, test } from 'vitest';
import { certificateProblem } from './certificates.js';

function problemOf(code: string, more: object = {}): string | null {
  return certificateProblem(Object.assign(new Error('what OpenSSL says'), { code }, more));
}

test('a certificate for another name is told with both names and where to say which', () => {
  const problem = problemOf('ERR_TLS_CERT_ALTNAME_INVALID', {
    host: '10.0.0.3',
    cert: { subjectaltname: 'DNS:a.b' },
  });
  expect(problem).toMatch(/is for DNS:a\.b, and not for 10\.0\.0\.3;.*tls\.servername/);
});

test('a signer that nobody knows is told with what OpenSSL says and where to name it', () => {
  expect(problemOf('SELF_SIGNED_CERT_IN_CHAIN')).toMatch(
    /not believed \(what OpenSSL says\);.*tls\.ca/,
  );
});

test('a server that wants a certificate is told', () => {
  expect(problemOf('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')).toMatch(/tls\.cert and tls\.key/);
});

test('what is no matter of certificates is none', () => {
  expect([
    problemOf('ECONNREFUSED'),
    certificateProblem(undefined),
    certificateProblem(null),
  ]).toEqual([null, null, null]);
});
