/** A module whose invocations go on after an absent page (events.ts): edits, and an end. */

import type { Call, Index, Statement } from '../reading/tree.js';
import { type Events, type LoggedRead, partsOf } from './events.js';
import { around, type Edit, indexText, isWithin, lineOf } from './rewriting.js';

/** Names of atomics and reads that keep what they find. */
export function readEdits({ atomics, reads, shared }: Events, prefix: string): Edit[] {
  const edits: Edit[] = [];
  for (const [site, read] of reads)
    edits.push(...around(site, `${prefix}_seen_${nameOf(read)}(`, ')'));
  for (const [{ callee }, type] of atomics) {
    const text = `${prefix}_${callee.name}_${type}`;
    edits.push({ at: callee.start, text, blank: callee.end - callee.start });
  }
  // What an invocation has that waits for a page must not come to others.
  for (const each of shared) edits.push(...around(each, `if (!${prefix}_absent) { `, ' }'));
  return edits;
}

/**
 * A store is made once, when all of its pages are there. What has events of its own is found
 * before, and has a name in it.
 * @param source without its comments
 * @param edits all that are known; those in what gets a name are taken out
 * @param wrappers those around an index that have it go through a table of pages
 */
export function eventStoreEdits(
  source: string,
  store: Statement,
  { apart }: Events,
  edits: Edit[],
  wrappers: ReadonlyMap<Index['index'], readonly Edit[]>,
  prefix: string,
): Edit[] {
  const { target, indices, values } = partsOf(store);
  const named = apart.get(store) ?? [];
  const names: string[] = [];
  const places: Edit[] = [];
  for (const [number, each] of named.entries()) {
    const outer = wrappers.get(each) ?? [];
    const own = edits.filter((edit) => isWithin(edit, each) && !outer.includes(edit));
    const text = lineOf(source, each, own);
    const name = `${prefix}_named_${number}`;
    names.push(`let ${name} = ${indices.includes(each) ? indexText(prefix, text) : text};`);
    for (const edit of own) edits.splice(edits.indexOf(edit), 1);
    const place = { at: each.start, text: name, blank: each.end - each.start };
    places.push(place);
    const [begin] = outer;
    // The name stands in the index: behind what begins there, and before what ends it.
    edits.splice(begin === undefined ? edits.length : edits.indexOf(begin) + 1, 0, place);
  }
  const touches = [target, ...values]
    // What `++` adds stands nowhere.
    .filter(({ start, end }) => start < end)
    .map((each) => {
      const own = edits.filter((edit) => isWithin(edit, each));
      return `_ = ${lineOf(source, each, own)};`;
    });
  const p = prefix;
  return around(
    store,
    `{ ${names.join(' ')} if (${p}_due()) { ${touches.join(' ')} if (${p}_acts()) { `,
    ' } } }',
  );
}

function nameOf({ component, width }: LoggedRead): string {
  return width === 1 ? component : `vec${width}${component[0]}`;
}

/** `$`: prefix; `$_event` counts; results of events below `$_known` are in the log. */
const EVENTS = `
var<private> $_logged = 0u;
var<private> $_log_at = 0u;
fn $_resume(invocation: u32) { $_log_at = $_part.log_begin + 1u + invocation; $_known = atomicLoad(&$_notes[$_log_at]); }
fn $_pause() { if ($_event > $_known) { atomicStore(&$_notes[$_log_at], $_event); } }
fn $_due() -> bool {
  if ($_event >= $_known) { return true; }
  $_event++;
  return false;
}
fn $_acts() -> bool {
  if ($_absent || $_strays()) { return false; }
  $_event++;
  return true;
}
fn $_finds(words: u32) -> bool {
  if ($_absent || $_strays()) { return false; }
  if ($_logged + words > $_part.log_words) {
    atomicStore(&$_notes[$_part.log_begin], $_part.log_words);
    $_absent = true;
    $_lack();
    return false;
  }
  $_event++;
  return true;
}
fn $_found() -> u32 {
  $_logged++;
  return atomicLoad(&$_notes[$_log_at + min($_logged, $_part.log_words) * $_part.log_stride]);
}
fn $_keep(word: u32) {
  $_logged++;
  atomicStore(&$_notes[$_log_at + $_logged * $_part.log_stride], word);
}
`;

const SEEN = `
fn $_seen_NAME(value: TYPE) -> TYPE {
  if (!$_due()) { return FOUND; }
  if ($_finds(WIDTHu)) { KEEP }
  return value;
}
`;

const ATOMIC = `
fn $_NAME_TYPE(place: ptr<storage, atomic<TYPE>, read_write>PARAMETER) -> TYPE {
  if (!$_due()) { return bitcast<TYPE>($_found()); }
  if (!$_finds(1u)) { return atomicLoad(place); }
  let value = NAME(placeVALUE);
  $_keep(bitcast<u32>(value));
  return value;
}
`;

const EXCHANGE = `
struct $_Exchanged_TYPE { old_value: TYPE, exchanged: bool }
fn $_atomicCompareExchangeWeak_TYPE(place: ptr<storage, atomic<TYPE>, read_write>, old: TYPE, new_value: TYPE) -> $_Exchanged_TYPE {
  if (!$_due()) {
    let value = bitcast<TYPE>($_found());
    return $_Exchanged_TYPE(value, $_found() != 0u);
  }
  if (!$_finds(2u)) { return $_Exchanged_TYPE(atomicLoad(place), true); }
  let result = atomicCompareExchangeWeak(place, old, new_value);
  $_keep(bitcast<u32>(result.old_value));
  $_keep(u32(result.exchanged));
  return $_Exchanged_TYPE(result.old_value, result.exchanged);
}
`;

/** The functions that a module's own edits name. */
export function eventText({ atomics, reads }: Events, prefix: string): string {
  const texts = new Set<string>();
  for (const read of reads.values()) texts.add(seenText(read));
  for (const [{ callee }, type] of atomics) texts.add(atomicText(callee, type));
  return [EVENTS, ...texts].join('').replaceAll('$', prefix);
}

function seenText(read: LoggedRead): string {
  const { component, width } = read;
  const type = width === 1 ? component : `vec${width}<${component}>`;
  const components = width === 1 ? [''] : ['.x', '.y', '.z', '.w'].slice(0, width);
  // Parameters are evaluated in their order.
  const found = components.map(() => `bitcast<${component}>($_found())`).join(', ');
  return SEEN.replace('NAME', nameOf(read))
    .replaceAll('TYPE', type)
    .replace('FOUND', width === 1 ? found : `${type}(${found})`)
    .replace('WIDTH', String(width))
    .replace('KEEP', components.map((each) => `$_keep(bitcast<u32>(value${each}));`).join(' '));
}

function atomicText({ name }: Call['callee'], type: string): string {
  if (name === 'atomicCompareExchangeWeak') return EXCHANGE.replaceAll('TYPE', type);
  const [parameter, value] = name === 'atomicLoad' ? ['', ''] : [`, given: ${type}`, ', given'];
  return ATOMIC.replaceAll('NAME', name)
    .replaceAll('TYPE', type)
    .replace('PARAMETER', parameter)
    .replace('VALUE', value);
}
