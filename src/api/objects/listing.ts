/** Spaces of this user, as other processes see them. */

import { factsOf, type ProcessFacts } from '../../linux/processes/process-facts.js';
import { listeningNames } from '../../linux/sockets/local-socket.js';
import type { OnememErrorCode } from '../../messages/error-codes.js';
import { ownerEnded } from '../../messages/owner-ended.js';
import {
  type HandleParts,
  nameOfSocket,
  type SpaceOverview,
  socketName,
} from '../../pager/protocol/attaching.js';
import { OnememError } from '../values/errors.js';
import { SpaceLook } from './look.js';

/** How long an owner may take to answer; one that is stopped never does. */
const ANSWER_MS = 2000;

export type ListedProcess = ProcessFacts;

export interface ListedSpace extends SpaceOverview {
  /** Of a space that `onemem serve` keeps. */
  readonly name: string | null;
  readonly owner: ListedProcess;
  readonly processes: readonly (ListedProcess & { readonly threads: number })[];
}

export interface SpaceListing {
  readonly spaces: readonly ListedSpace[];
  /** Those of which nothing is known, and why. */
  readonly failures: readonly { readonly code: OnememErrorCode; readonly message: string }[];
}

/** What a handle shows. */
export function spaceBy({ owner, socket, token }: HandleParts): ListedSpace {
  const space = look(socket, token);
  if (space !== null) return space;
  throw new OnememError('OWNER_LOST', ownerEnded(owner));
}

export function allSpaces(): SpaceListing {
  const { spaces, failures } = ofEachSocket((socket) => look(socket, null));
  spaces.sort((a, b) => a.owner.pid - b.owner.pid);
  return { spaces, failures };
}

interface Found<T> {
  readonly spaces: T[];
  readonly failures: SpaceListing['failures'];
}

/** @param of null: there is no space any more, or not this one */
function ofEachSocket<T>(of: (socket: string) => T | null): Found<T> {
  const spaces: T[] = [];
  const failures: { code: OnememErrorCode; message: string }[] = [];
  const beginning = socketName('');
  for (const name of listeningNames(beginning)) {
    try {
      const space = of(name.slice(beginning.length));
      if (space !== null) spaces.push(space);
    } catch (error) {
      if (!(error instanceof OnememError)) throw error;
      failures.push({ code: error.code, message: error.message });
    }
  }
  return { spaces, failures };
}

/** Null: the space has gone meanwhile, or is another user's. */
function look(socket: string, token: string | null): ListedSpace | null {
  using space = SpaceLook.at(socket, token, ANSWER_MS);
  const owner = space === null ? null : factsOf(space.owner);
  if (space === null || owner === null) return null;
  const { memories, arrays, processes } = space.ask('overview', null);
  const users = processes.flatMap(({ pid, threads }) => {
    const facts = factsOf(pid);
    return facts === null ? [] : [{ ...facts, threads }];
  });
  return { name: nameOfSocket(socket), owner, memories, processes: users, arrays };
}

/** A space that is looked at again and again. */
export interface SeenSpace {
  readonly look: SpaceLook;
  /** Of a space that `onemem serve` keeps. */
  readonly name: string | null;
  /** Of its owner. */
  readonly command: string;
}

/** @param wanted an owner's process or the name of a space; missing: all that there are */
export function looksAt(wanted: string | undefined): Found<SeenSpace> {
  return ofEachSocket((socket) => {
    const name = nameOfSocket(socket);
    // A space of another name is not asked: its process may be stopped.
    if (wanted !== undefined && wanted !== name && !/^\d+$/.test(wanted)) return null;
    const look = SpaceLook.at(socket, null, ANSWER_MS);
    if (look === null) return null;
    if (wanted === undefined || wanted === name || wanted === String(look.owner))
      return { look, name, command: factsOf(look.owner)?.command ?? '' };
    look[Symbol.dispose]();
    return null;
  });
}
