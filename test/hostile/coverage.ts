/**
 * Whether every part of the API is among the calls: the prototypes are walked, so that what is new
 * is noticed.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as api from '../../src/index.js';
import { CALLS } from './calls.js';

/**
 * The declarations that users get: they say which members are private. An accessor of an interface
 * is declared as a field is: the prototype tells them apart.
 */
function declared(): { calls: Set<string>; fields: Set<string> } {
  const { resolve } = createRequire(import.meta.url);
  const root = dirname(resolve('../../../package.json'));
  // What the other entries export is for the authors of policies and drivers, whose code is part of
  // the manager.
  const [, text] = readFileSync(join(root, 'api/onemem.md'), 'utf8').split('\n## ');
  const calls = new Set<string>();
  const fields = new Set<string>();
  let inside = '';
  for (const line of text.split('\n')) {
    const top = /^(class|interface|function) (\w+)/.exec(line);
    if (top !== null) {
      inside = Object.hasOwn(api, top[2]) && top[1] !== 'function' ? top[2] : '';
    } else if (line === '}') inside = '';
    // What a field holds is an object of its own. Symbols stand there by the names that the library
    // gives them.
    const named = line
      .replace('[DISPOSE]', '[Symbol.dispose]')
      .replace('[ASYNC_DISPOSE]', '[Symbol.asyncDispose]');
    const member =
      /^ {4}(?:get |set |static )?(\[Symbol\.\w+\]|\w+)(?:<.*)?\(/.exec(named) ??
      /^ {4}get (\w+)/.exec(named);
    const field = /^ {4}readonly (\w+)/.exec(named);
    if (inside === '') continue;
    if (member !== null && member[1] !== 'constructor') calls.add(`${inside}.${member[1]}`);
    if (field !== null) fields.add(`${inside}.${field[1]}`);
  }
  return { calls, fields };
}

/** What users can call and no sequence does. */
export function missing(): string[] {
  const called = new Set(CALLS.map(({ name }) => name));
  const known = declared();
  const wanted = new Set(known.calls);
  for (const [name, value] of Object.entries(api)) {
    if (typeof value !== 'function') continue;
    const isClass = /^class\b/.test(Function.prototype.toString.call(value));
    if (!isClass || name === 'OnememError') wanted.add(name);
    if (!isClass) continue;
    for (const key of Reflect.ownKeys(value.prototype as object)) {
      const member = `${name}.${typeof key === 'symbol' ? `[${key.description}]` : key}`;
      if (known.calls.has(member) || known.fields.has(member)) wanted.add(member);
    }
  }
  // A declaration that this does not understand must not look like one that is covered.
  for (const name of [
    'AddressSpace.close',
    'StreamEvent.since',
    'HostStream.[Symbol.dispose]',
    'ManagedArray.data',
    'Device.run',
  ]) {
    if (!wanted.has(name))
      throw new Error(`api/onemem.md does not declare ${name}: its form has changed`);
  }
  wanted.delete('OnememError.ranges');
  return [...wanted].filter((name) => !called.has(name));
}
