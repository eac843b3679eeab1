/** What commands that are under way stand for. */

import { NO_NODE, type NodeId, type Source, Status } from '../basics/types.js';
import type { Block } from './va-block.js';
import type { Operation } from './work.js';

/** What a token stands for while a command is under way. */
export interface Token {
  id: number;
  kind: 'revoke' | 'transfer' | 'release';
  block: Block;
  node: NodeId;
  /** Of a transfer, where its pages come from. */
  source: Source;
  first: number;
  count: number;
  /** The first frame that is in quarantine. */
  frame: number;
}

/** The part of the state that has them. */
export interface TokenTable {
  readonly tokens: (Token | undefined)[];
  readonly freeTokens: number[];
}

export function newToken(
  table: TokenTable,
  kind: Token['kind'],
  block: Block,
  node: NodeId,
  first: number,
  count: number,
): Token {
  const spare = table.freeTokens.pop();
  if (spare === undefined) {
    const id = table.tokens.length;
    const token = { id, kind, block, node, source: NO_NODE, first, count, frame: 0 };
    table.tokens.push(token);
    return token;
  }
  const token = table.tokens[spare] as Token;
  token.kind = kind;
  token.block = block;
  token.node = node;
  token.first = first;
  token.count = count;
  return token;
}

export function endToken(table: TokenTable, token: Token): void {
  table.freeTokens.push(token.id);
}

/** The operation goes on when the command is through. No command answers before it returns. */
export function countPending(
  table: TokenTable,
  operation: Operation,
  token: Token,
  status: Status,
): void {
  if (status === Status.Pending) operation.outstanding++;
  else endToken(table, token);
}
