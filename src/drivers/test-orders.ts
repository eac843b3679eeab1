/** Orders as the manager gives them to drivers, for tests. */
import { Access } from '../core/basics/types.js';
import type { TransferOrder } from './driver.js';

export function orderIn(
  token: number,
  address: number,
  page: number,
  count: number,
  frame: number,
  access: Access,
  backed: boolean,
): TransferOrder {
  return { token, address, page, count, frame, access, backed, urgent: false };
}

export function orderOut(
  token: number,
  frame: number,
  count: number,
  address: number,
  urgent = false,
): TransferOrder {
  return {
    token,
    address,
    page: 0,
    count,
    frame,
    access: Access.None,
    backed: true,
    urgent,
  };
}
