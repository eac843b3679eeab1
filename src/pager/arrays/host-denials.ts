/** Denied accesses of the application's threads, in words that name array and elements. */
import type { DeniedAccess } from '../core/deferred.js';
import type { Poison } from '../host/poison.js';
import type { Places } from './table/places.js';

export class HostDenials {
  constructor(
    private readonly places: Places,
    private readonly poison: Poison,
    private readonly say: (text: string) => void,
  ) {}

  denied({ page, write, thread, reason }: DeniedAccess): void {
    const why = this.places.explain(reason, page);
    if (reason !== 'FREED' || write) {
      this.objected(page, write, thread, why);
      return;
    }
    const place = `${this.places.placeOf(page).text}, ${why}`;
    if (this.places.mayWarn(page))
      this.say(`onemem: warning: the program read ${place}; it reads as zero\n`);
  }

  /** @param why the rest of a sentence that begins with what was touched */
  objected(page: number, write: boolean, thread: number, why: string): void {
    this.poison.end(page, write, thread, () => `${this.places.placeOf(page).text}, ${why}`);
  }
}
