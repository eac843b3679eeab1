/** Tables of Apache Arrow over arrays, by the package `apache-arrow`, an optional peer. */
import { elementTypeOf, type NumericArray } from '../../core/basics/elements.js';
import type { AddressSpace, ArrowFile, ArrowTable, ManagedArray } from '../public.js';
import { arrayTypeName, isObject, show, textOf } from '../values/arguments.js';
import { argumentError, OnememError, typeError } from '../values/errors.js';
import type { FilePath } from '../values/file-path.js';
import { packageMissing } from '../values/packages.js';

type Arrow = { tableFromIPC(bytes: Uint8Array): ArrowTable };

/** A variable, so that programs without the package are compiled. */
const PACKAGE: string = 'apache-arrow';

export async function openArrow(space: AddressSpace, file: FilePath): Promise<ArrowFile> {
  const { tableFromIPC } = await load();
  const bytes = space.fileArray(Uint8Array, file);
  try {
    return { table: tableFromIPC(bytes.data as Uint8Array), bytes };
  } catch (error) {
    bytes.free();
    throw new OnememError(
      'ARROW',
      `${show(String(file))} is no Arrow file: ${textOf(error)}`,
      {},
      { cause: error },
    );
  }
}

async function load(): Promise<Arrow> {
  try {
    return (await import(PACKAGE)) as Arrow;
  } catch (error) {
    throw packageMissing('Arrow files are read by', PACKAGE, error);
  }
}

/** Copies columns to arrays, each under its name. */
export function fromArrow(space: AddressSpace, table: unknown): Record<string, ManagedArray> {
  if (!isTable(table))
    throw typeError('ARROW', `fromArrow() takes a Table of apache-arrow, not ${show(table)}`);
  const columns = table.schema.fields.map(({ name }) => ({ name, column: numbersOf(table, name) }));
  return Object.fromEntries(
    columns.map(({ name, column }) => [name, arrayOf(space, name, column)]),
  );
}

function isTable(table: unknown): table is ArrowTable {
  const { schema, getChild } = (isObject(table) ? table : {}) as Partial<ArrowTable>;
  return typeof getChild === 'function' && Array.isArray(schema?.fields);
}

interface Piece {
  readonly length: number;
  readonly values: NumericArray;
}

/** Numbers alone are in order one behind the other. */
function numbersOf(table: ArrowTable, name: string): readonly Piece[] {
  const column = table.getChild(name);
  const remedy = 'select other columns first: table.select([...])';
  if (column === null || column.data.some(({ length, values }) => !isNumbers(length, values)))
    throw argumentError(
      'ARROW',
      `column ${name} holds no numbers that an array can have; ${remedy}`,
    );
  if (column.nullCount > 0)
    throw argumentError(
      'ARROW',
      `column ${name} lacks ${column.nullCount} values, which arrays cannot; ${remedy}`,
    );
  return column.data as readonly Piece[];
}

function isNumbers(length: number, values: unknown): boolean {
  const type = elementTypeOf(arrayTypeName(values) ?? '');
  return type !== undefined && (values as NumericArray).length >= length;
}

function arrayOf(space: AddressSpace, name: string, pieces: readonly Piece[]): ManagedArray {
  const type = (pieces[0]?.values.constructor ?? Float64Array) as Float64ArrayConstructor;
  const length = pieces.reduce((sum, each) => sum + each.length, 0);
  const array = space.array(type, length, { name });
  let at = 0;
  for (const { length, values } of pieces) {
    array.data.set((values as Float64Array).subarray(0, length), at);
    at += length;
  }
  return array;
}
