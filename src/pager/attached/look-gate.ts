/** What a process may ask that only looks at a space. */
import type { FromManager, ToManager } from '../protocol/messages.js';
import { RequestError, toWire } from '../protocol/wire.js';
import type { Gate } from './line-connection.js';
import { isRecord, isWhole } from './shapes.js';

export class LookGate implements Gate {
  /**
   * @param isNamed whether programs find the space by its name, and attach by that
   * @param seesAll it came without a handle: it may see all arrays, as long as it is of this user
   */
  constructor(
    private readonly isNamed: boolean,
    private readonly seesAll: boolean,
  ) {}

  pass(message: unknown, fd: number | null): ToManager {
    if (isRecord(message) && isWhole(message.id) && fd === null) {
      const { id, name, value } = message;
      if (name === 'overview' && value === null) return { id, name, value };
      if (name === 'shareSpace' && this.isNamed)
        return { id, name, value: { rights: 'write', ranges: null } };
      if (this.seesAll) {
        if ((name === 'stats' || name === 'follow') && value === null) return { id, name, value };
        if ((name === 'tail' || name === 'unfollow') && isRecord(value) && isWhole(value.id))
          return { id, name, value: { id: value.id } };
      }
    }
    throw new RequestError('MESSAGE', 'a process that looks at a space asks nothing else');
  }

  refuse(message: unknown, error: unknown): FromManager | null {
    const id = isRecord(message) ? message.id : 0;
    return isWhole(id) && id > 0 ? { id, value: null, error: toWire(error) } : null;
  }
}
