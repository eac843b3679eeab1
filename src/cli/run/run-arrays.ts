/** The arrays of a kernel: which file each is read from, and where its result goes. */
import { fileType } from '../../api/arrays/files/npy.js';
import { resultArray } from '../../api/objects/result-array.js';
import { bytesOf, CONSTRUCTORS } from '../../core/basics/elements.js';
import type { AddressSpace, ElementType, ManagedArray, NumericArray } from '../../index.js';
import { CommandError, codeOf, explain } from '../terminal/failure.js';
import { product } from './launch-size.js';
import {
  type FileName,
  headerOf,
  type InputFile,
  type Result,
  type ResultFiles,
} from './run-files.js';
import type { Job } from './run-job.js';
import type { Plan, Use } from './run-plan.js';

/** Typed arrays by the short names of their elements. */
export const ARRAY_TYPES: Readonly<
  Record<
    ElementType,
    {
      new (length: number): NumericArray;
      readonly BYTES_PER_ELEMENT: number;
      readonly name: string;
    }
  >
> = CONSTRUCTORS;

/** What the run writes, before any of it has a place. */
export function resultsOf(plan: Plan, job: Job): Result[] {
  const { uses, inputs } = job;
  const results: Result[] = [];
  for (const [parameter, { type, use }] of uses) {
    if (use === 'in') continue;
    const input = inputs.get(parameter);
    if (input !== undefined) {
      const { header, byteLength: bytes } = input;
      const path = savePath(plan.saves.get(parameter), input);
      results.push({
        parameter,
        path,
        from: input,
        header,
        bytes,
        inPlace: isMapped(plan, type, header.length, bytes),
      });
      continue;
    }
    const file = plan.files.out.get(parameter) as FileName;
    if (file.raw !== null && file.raw !== fileType(type)) {
      throw new CommandError(
        'FILE_TYPE',
        `--out ${parameter}=${file.path}:${file.raw}: the kernel declares ${parameter} as ${type}; state ${fileType(type)}, or change the kernel`,
      );
    }
    const shape = shapeFor(file, job);
    const header = headerOf(fileType(type), shape, file.raw !== null);
    const bytes = product(shape) * bytesOf(type);
    const inPlace = isMapped(plan, type, header.length, bytes);
    results.push({ parameter, path: file.path, from: null, header, bytes, inPlace });
  }
  return results;
}

/** Elements must stand at a multiple of their size; where they do not, their pages are copied. */
function isMapped(plan: Plan, type: ElementType, dataOffset: number, bytes: number): boolean {
  return plan.isMapped && bytes > 0 && dataOffset % bytesOf(type) === 0;
}

export function makeArrays(
  space: AddressSpace,
  plan: Plan,
  job: Job,
  results: ResultFiles,
): Record<string, ManagedArray> {
  const arrays: Record<string, ManagedArray> = {};
  for (const [name, { type, use }] of job.uses) {
    try {
      arrays[name] = makeArray(space, plan, job, { name, type, use }, results);
    } catch (error) {
      throw allocationFailure(error);
    }
    if (use !== 'in') results.keepIn(name, arrays[name]);
  }
  return arrays;
}

function makeArray(
  space: AddressSpace,
  plan: Plan,
  job: Job,
  { name, type, use }: { readonly name: string; readonly type: ElementType; readonly use: Use },
  results: ResultFiles,
): ManagedArray {
  const input = job.inputs.get(name);
  const length = input?.length ?? product(shapeFor(plan.files.out.get(name) as FileName, job));
  const place = use === 'in' ? null : results.placeOf(name);
  if (place !== null) return resultArray(space, type, length, { ...place, name });
  if (input === undefined) {
    return type === 'bytes'
      ? space.bytes(length, { name })
      : space.array(ARRAY_TYPES[type], length, { name });
  }
  const { path, dataOffset: byteOffset } = input;
  const writable = use === 'inout';
  const mapped = !writable && isMapped(plan, type, byteOffset, input.byteLength);
  return space.fileArray(ARRAY_TYPES[type], path, { byteOffset, length, name, writable, mapped });
}

/** The result of an --inout is of the same kind as what was read. */
function savePath(save: FileName | undefined, input: InputFile): string {
  if (save === undefined) return input.path;
  if (save.raw !== null || save.shape !== null) {
    throw new CommandError(
      'FILE_SHAPE',
      `--save ${save.path}: type and shape are those of ${input.path}; name the file alone`,
    );
  }
  return save.path;
}

/** The shape of an --out: as it says, or of an array with an element for each item, or the launch's. */
function shapeFor({ shape }: FileName, { extent, size, inputs }: Job): readonly number[] {
  if (shape !== null) return shape;
  for (const input of inputs.values())
    if (input.length === size && input.shape.length > 0) return input.shape;
  return typeof extent === 'number' ? [extent] : extent.toReversed();
}

/** The library speaks of its own options; here they have other names. */
function allocationFailure(error: unknown): unknown {
  if (codeOf(error) !== 'HOST_BUDGET') return error;
  return new CommandError(
    'HOST_BUDGET',
    `${explain(error)} (--host-memory SIZE, --storage FOLDER)`,
    { cause: error },
  );
}
