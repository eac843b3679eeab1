/** The page that shows a run: one text, which loads nothing and runs nothing but its own script. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Detail, Picture } from '../trace/picture/picture.js';

/** What the page draws, as JSON. */
export type Frame = Omit<Picture, 'places' | 'arrived' | 'returned'> & {
  /** In base64, as the next two. */
  readonly places: string;
  readonly arrived: string;
  readonly returned: string;
};

/** A run that has ended. */
export type WholeFrame = Frame & {
  readonly details: readonly Detail[];
};

export interface Page {
  readonly html: string;
  /** The value of the header Content-Security-Policy. */
  readonly policy: string;
}

export function frameOf({ places, arrived, returned, ...rest }: Picture): Frame {
  return {
    ...rest,
    places: base64(places),
    arrived: base64(arrived),
    returned: base64(returned),
  };
}

/** @param frame of a run that has ended; null: the page asks its server for frames */
export function pageOf(title: string, frame: WholeFrame | null): Page {
  const style = asset('page.css');
  const script = asset('page.js');
  const connect = frame === null ? "; connect-src 'self'" : '';
  const policy =
    `default-src 'none'; style-src 'sha256-${hashOf(style)}'; script-src 'sha256-${hashOf(script)}'${connect}; ` +
    "base-uri 'none'; form-action 'none'";
  const parts: Readonly<Record<string, string>> = {
    TITLE: escaped(title),
    POLICY: policy,
    STYLE: style,
    SCRIPT: script,
    // No text of the recording ends the element that it stands in.
    DATA: JSON.stringify(frame).replaceAll('<', '\\u003c'),
  };
  const html = asset('page.html').replace(
    /@([A-Z_]+)@/g,
    (whole, name: string) => parts[name] ?? whole,
  );
  return { html, policy };
}

function asset(name: string): string {
  return readFileSync(new URL(`../view/${name}`, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function base64(values: Uint8Array | Uint16Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
