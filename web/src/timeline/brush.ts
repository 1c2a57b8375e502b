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

// paramsOf is a chosen time in an address.
export const paramsOf = ({ from, to }: View) => ({ since: new Date(from).toISOString(), until: new Date(to).toISOString() });

export const chosenTime = (params: URLSearchParams): Chosen => ({
  view: brushOf(params),
  set: (view) => setParams(view ? paramsOf(view) : { since: '', until: '' }),
});

// zoomInLink is the part of a timeline in view: two instants with a slash.
export const zoomInLink = (view: View | undefined) => view && `${new Date(view.from).toISOString()}/${new Date(view.to).toISOString()}`;

export function zoomOf(text: string | null): View | undefined {
  const [from, to] = (text ?? '').split('/').map((at) => Date.parse(at)) as [number, number];
  return from < to ? { from, to } : undefined;
}

// touches reports whether a time overlaps a view. An open end overlaps.
export const touches = (view: View, from: string | undefined, to: string | undefined) => Date.parse(from ?? '') <= view.to && (!to || Date.parse(to) >= view.from);

// isIn reports whether a time overlaps the chosen one.
export function isIn(params: URLSearchParams, from: string | undefined, to: string | undefined): boolean {
  const view = brushOf(params);
  return !view || touches(view, from, to);
}
