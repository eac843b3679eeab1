/** What a program is told before a launch. */
import type { LaunchForecast } from '../../pager/protocol/operations.js';
import type { LaunchEstimate } from '../public.js';
import { fromWire } from '../values/errors.js';

/** @param forecast null: there is nothing to run */
export function estimateOf(forecast: LaunchForecast | null): LaunchEstimate {
  if (forecast === null)
    return {
      way: 'direct',
      parts: 0,
      paging: 'none',
      bytesIn: 0,
      bytesOut: 0,
      reason: null,
      error: null,
    };
  const { why, failure, ...figures } = forecast;
  const error = failure === null ? null : (fromWire(failure) as LaunchEstimate['error']);
  return { ...figures, reason: error?.message ?? why, error };
}
