// The run that is shown: frames of a server, or the one that the page has, put together.

export const bytesOf = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));

export class Run {
  frame = null;
  places = new Uint8Array(0);
  arrived = new Uint16Array(0);
  returned = new Uint16Array(0);

  /** A frame has all columns, or those from `fromColumn` on, which replace what was there. */
  take(frame) {
    const { rows, columns, fromColumn } = frame;
    const own = columns - fromColumn;
    const places = bytesOf(frame.places);
    const arrived = new Uint16Array(bytesOf(frame.arrived).buffer);
    const returned = new Uint16Array(bytesOf(frame.returned).buffer);
    const before = this.frame;
    frame.report ??= before.report;
    if (fromColumn === 0) Object.assign(this, { places, arrived, returned });
    else {
      const joined = (old, more) => {
        const made = new old.constructor(rows * columns);
        for (let row = 0; row < rows; row++) {
          const from = row * before.columns;
          made.set(old.subarray(from, from + fromColumn), row * columns);
          made.set(more.subarray(row * own, (row + 1) * own), row * columns + fromColumn);
        }
        return made;
      };
      this.places = joined(this.places, places);
      this.arrived = joined(this.arrived, arrived);
      this.returned = joined(this.returned, returned);
      const longer = (old, more) => [...old.slice(0, fromColumn), ...more];
      frame.occupancy = frame.occupancy.map((arrays, memory) =>
        arrays.map((more, array) => longer(before.occupancy[memory]?.[array] ?? [], more)),
      );
      frame.faults = frame.faults.map((more, at) => longer(before.faults[at] ?? [], more));
      for (const [cause, more] of Object.entries(frame.transfers))
        frame.transfers[cause] = longer(before.transfers[cause], more);
      const keyOf = ({ id, beganMs }) => `${id} ${beganMs}`;
      const launches = new Map(before.launches.map((each) => [keyOf(each), each]));
      for (const each of frame.launches) launches.set(keyOf(each), each);
      frame.launches = [...launches.values()];
    }
    this.frame = frame;
  }

  columnOf(ms) {
    const { columns, columnMs } = this.frame;
    return Math.min(columns - 1, Math.max(0, Math.floor(ms / columnMs)));
  }

  /** The array of a row of the map. */
  arrayAt(row) {
    return this.frame.arrays.findLast(({ firstRow }) => firstRow <= row);
  }

  /** The memory of which most is to be told. */
  get busiest() {
    const own = this.frame.report.memories.map(
      ({ evictions, bytesIn }) => evictions * 1e15 + bytesIn,
    );
    return Math.max(0, own.indexOf(Math.max(...own)));
  }
}
