// The control plane's clock, which applies to all times. A browser's clock may be wrong.
import { param } from './route';

// ahead is its lead over the browser's clock. Differences within the header's resolution count as none.
let ahead = 0;
const tolerated = 5000;

export const clock = () => Date.now() + ahead;

// heard takes the date of an answer to a request. A late answer was dated at any time since the request was sent.
export function heard(date: string | null, sent: number) {
  const at = Date.parse(date ?? '');
  const by = Math.max(at - Date.now(), Math.min(0, at - sent));
  if (at) ahead = Math.abs(by) < tolerated ? 0 : by;
}

// frozen is the instant of a view that was handed over: the param at of its address.
export function frozen(): number | undefined {
  const parsed = Date.parse(param('at') ?? '');
  return Number.isNaN(parsed) ? undefined : parsed;
}

// viewed is the time for which a page is shown.
export const viewed = () => frozen() ?? clock();
