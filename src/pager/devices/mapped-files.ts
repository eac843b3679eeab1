/**
 * Arrays over mapped files as devices in processes of their own have them: there kernels read the
 * kernel's own memory of the file, as threads of the program do. No page of the space is touched
 * for that, so that the core knows nothing of it.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import type { FileProvider, FileRange } from '../sources/files.js';
import type { Device } from './device.js';

interface Window {
  /**
   * Where its elements begin, by byte, as offsets of arguments are; null: the process cannot map
   * it, and gets the pages of the array; undefined: it is asked.
   */
  at: number | null | undefined;
  readonly waiting: (() => void)[];
}

export class MappedFiles {
  private readonly windows = new Map<Device, Map<FileRange, Window>>();

  constructor(private readonly files: FileProvider) {
    files.onEnd = (range) => this.forget(range);
  }

  /** Whether kernels of the device read the file itself where they read this page. */
  reach(device: Device, page: number): boolean {
    const range = this.rangeOf(device, page);
    return range !== null && this.windows.get(device)?.get(range)?.at !== null;
  }

  /**
   * Parameters as the kernel finds them there. Null: a file has yet to be mapped; `then` is called
   * when it is, or cannot be, or the process has ended.
   */
  parametersOf(
    device: Device,
    parameters: readonly LaunchParameter[],
    then: () => void,
  ): readonly LaunchParameter[] | null {
    if (device.process?.files == null) return parameters;
    const found: LaunchParameter[] = [];
    for (const each of parameters) {
      const isSome = each.kind === 'array' && each.length > 0;
      const range = isSome ? this.rangeOf(device, Math.floor(each.offset / PAGE_BYTES)) : null;
      if (!isSome || range === null) {
        found.push(each);
        continue;
      }
      const { at, waiting } = this.windowOf(device, range);
      if (at === undefined) {
        waiting.push(then);
        return null;
      }
      found.push(
        at === null ? each : { ...each, offset: at + each.offset - range.firstPage * PAGE_BYTES },
      );
    }
    return found;
  }

  /**
   * The name of an argument that its process cannot map, and that has no other place: memory of the
   * program, of which the space has no pages. Null: there is none.
   */
  unreachable(device: Device, parameters: readonly LaunchParameter[]): string | null {
    for (const each of parameters) {
      if (each.kind !== 'array' || each.length === 0) continue;
      const range = this.files.rangeOf(Math.floor(each.offset / PAGE_BYTES));
      if (range?.source.mapped !== true || !range.source.shared) continue;
      if (this.windows.get(device)?.get(range)?.at == null) return each.name;
    }
    return null;
  }

  /** The device has gone, and with it what its process had mapped. */
  drop(device: Device): void {
    this.windows.delete(device);
  }

  private windowOf(device: Device, range: FileRange): Window {
    const windows = getOrMake(this.windows, device, () => new Map<FileRange, Window>());
    const known = windows.get(range);
    if (known !== undefined) return known;
    const window: Window = { at: undefined, waiting: [] };
    windows.set(range, window);
    const { fd, offset, bytes, shared } = range.source;
    const before = offset % PAGE_BYTES;
    const part = { fd, offset: offset - before, bytes: before + bytes, writable: shared };
    device.process?.files?.showFile(part, (at) => {
      window.at = at === null ? null : at + before;
      // The array has gone meanwhile, and the launch that wanted it.
      if (windows.get(range) !== window) this.hide(device, range, window);
      for (const then of window.waiting.splice(0)) then();
    });
    return window;
  }

  /** The array has gone. */
  private forget(range: FileRange): void {
    for (const [device, windows] of this.windows) {
      const window = windows.get(range);
      windows.delete(range);
      if (window !== undefined) this.hide(device, range, window);
    }
  }

  private hide({ process }: Device, { source }: FileRange, { at }: Window): void {
    if (at !== null && at !== undefined)
      process?.files?.hideFile(at - (source.offset % PAGE_BYTES));
  }

  /** The mapped file that has the page, if the device can map it as well. */
  private rangeOf({ process }: Device, page: number): FileRange | null {
    const range = process?.files == null ? null : this.files.rangeOf(page);
    return range?.source.mapped === true ? range : null;
  }
}
