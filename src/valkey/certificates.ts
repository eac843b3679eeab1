/** What a certificate lacked when TLS did not come about, and the remedy. */

/** As node:tls names them: its signer is not known here. */
const UNKNOWN: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

interface TlsError extends Error {
  readonly code?: string;
  readonly host?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** Null: it was not for a certificate. */
export function certificateProblem(error: unknown): string | null {
  const { code = '', message = '', host, cert } = (error ?? {}) as TlsError;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = cert?.subjectaltname ?? 'no name';
    return `its certificate is for ${names}, and not for ${host}; have it name that, or say by tls.servername which name to look for in every certificate`;
  }
  if (UNKNOWN.has(code))
    return `its certificate is not believed (${message}); give the certificate of its signer as tls.ca`;
  if (code.endsWith('CERTIFICATE_REQUIRED'))
    return 'it wants a certificate of its clients; give tls.cert and tls.key';
  return null;
}
