// The chosen time of a timeline, kept in the address, so that a link shows the same part.
import { setParams } from '../route';
import type { View } from './layout';

export interface Chosen {
  view: View | undefined;
  set: (view: View | undefined) => void;
}

function brushOf(params: URLSearchParams): View | undefined {
  const [from, to] = ['since', 'until'].map((name) => Date.parse(params.get(name) ?? '')) as [number, number];
  return Number.isNaN(from) || Number.isNaN(to) ? undefined : { from, to };
}

export const chosenTime = (params: URLSearchParams): Chosen => ({
  view: brushOf(params),
  set: (view) => setParams(view ? { since: new Date(view.from).toISOString(), until: new Date(view.to).toISOString() } : { since: '', until: '' }),
});

// touches reports whether a time overlaps a view. An open end overlaps.
export const touches = (view: View, from: string | undefined, to: string | undefined) => Date.parse(from ?? '') <= view.to && (!to || Date.parse(to) >= view.from);

// isIn reports whether a time overlaps the chosen one.
export function isIn(params: URLSearchParams, from: string | undefined, to: string | undefined): boolean {
  const view = brushOf(params);
  return !view || touches(view, from, to);
}
