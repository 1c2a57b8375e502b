// The geometry of timelines and charts: scales, ticks, packing and clipping to the view. It is pure: times are
// milliseconds, lengths are pixels.

import { isFailure, loudness } from '../design/state';
import { span } from '../time';

export interface View {
  from: number;
  to: number;
}

// Look shows the certainty of a bar: the past is solid, a plan is an outline, a forecast or a closed window is
// hatched.
export type Look = 'past' | 'plan' | 'forecast' | 'closed';

export interface Bar {
  id: string;
  from: number;
  // to is undefined while it lasts.
  to: number | undefined;
  role: string;
  look: Look;
  // text names the bar for readers and in its tip.
  text: string;
  href?: string | undefined;
  // short stands inside the bar if there is room.
  short?: string | undefined;
}

export interface Row {
  id: string;
  name: string;
  href?: string | undefined;
  bars: Bar[];
}

export const lengthOf = (view: View) => view.to - view.from;

// least is the shortest span that can be shown, in milliseconds.
const least = 100;

// within moves a view into the whole, and keeps its length if there is room.
export function within(view: View, whole: View): View {
  const length = Math.min(Math.max(lengthOf(view), Math.min(least, lengthOf(whole))), lengthOf(whole));
  const from = Math.min(Math.max(view.from, whole.from), whole.to - length);
  return { from, to: from + length };
}

// zoomed keeps the time at the pointer in its place. A factor below 1 shows less.
export function zoomed(view: View, whole: View, factor: number, at: number): View {
  const length = Math.min(Math.max(lengthOf(view) * factor, least), lengthOf(whole));
  const share = lengthOf(view) > 0 ? (at - view.from) / lengthOf(view) : 0.5;
  return within({ from: at - length * share, to: at + length * (1 - share) }, whole);
}

export const panned = (view: View, whole: View, by: number): View => within({ from: view.from + by, to: view.to + by }, whole);

// steady is now in steps of at most a thousandth of a time. Marks of the clock then move by a pixel, and not each second.
export function steady(now: number, length: number): number {
  const step = 2 ** Math.floor(Math.log2(Math.max(length / 1000, 1)));
  return Math.floor(now / step) * step;
}

// wholeUntil is the time up to now with a margin.
export function wholeUntil(from: number, now: number): View {
  const to = steady(now, now - from);
  return { from, to: to + (to - from) * 0.02 };
}

export const xOf = (view: View, width: number, at: number) => ((at - view.from) / Math.max(lengthOf(view), 1)) * width;
export const timeAt = (view: View, width: number, x: number) => view.from + (x / Math.max(width, 1)) * lengthOf(view);

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
const steps = [
  100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour,
  2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day,
];

export interface Tick {
  at: number;
  label: string;
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const two = (n: number) => String(n).padStart(2, '0');

// labelOf writes a local time as precisely as the step needs. Midnight is a date.
export function labelOf(local: number, step: number): string {
  const at = new Date(local);
  if (local % day === 0) return `${days[at.getUTCDay()]} ${at.getUTCDate()} ${months[at.getUTCMonth()]}`;
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
  if (step >= minute) return clock;
  const seconds = `${clock}:${two(at.getUTCSeconds())}`;
  return step >= second ? seconds : `${seconds}.${Math.floor(at.getUTCMilliseconds() / 100)}`;
}

// wideLabel is the least distance of labels with seconds or dates.
const wideLabel = 80;

// ticks returns round local times at least apart pixels apart. offset is the zone's distance from UTC at an instant.
export function ticks(view: View, width: number, offset: (at: number) => number, apart = 80): Tick[] {
  if (width <= 0 || lengthOf(view) <= 0) return [];
  const step = steps.find((one) => (one / lengthOf(view)) * width >= (one < minute || one >= day ? Math.max(apart, wideLabel) : apart)) ?? (steps.at(-1) as number);
  const found: Tick[] = [];
  let local = Math.ceil((view.from + offset(view.from)) / step) * step;
  for (let i = 0; i < 200; i++, local += step) {
    // The offset is that of the instant itself, which the change to summer time moves.
    const guess = local - offset(local - offset(view.from));
    const at = local - offset(guess);
    if (at > view.to) break;
    if (at >= view.from && at > (found.at(-1)?.at ?? Number.NEGATIVE_INFINITY)) found.push({ at, label: labelOf(at + offset(at), step) });
  }
  return found;
}

export const isLoud = isFailure;
export const byLoudness = <T extends { bar: Bar }>(boxes: T[]): T[] => [...boxes].sort((a, b) => loudness(a.bar.role) - loudness(b.bar.role));

// overlaps reports whether a bar is in view.
export const overlaps = (bar: Bar, view: View, now: number) => bar.from <= view.to && (bar.to ?? Math.max(now, bar.from)) >= view.from;

// narrowest widths: a failed bar is seen among 10,000 others.
const narrow = 2;
const loudNarrow = 4;

export interface Box {
  bar: Bar;
  lane: number;
  x: number;
  width: number;
}

// boxOf returns the horizontal place of a bar, cut to the view.
export function boxOf(bar: Bar, lane: number, view: View, width: number, now: number): Box {
  const left = xOf(view, width, bar.from);
  const right = xOf(view, width, bar.to ?? Math.max(now, bar.from));
  const x = Math.min(Math.max(left, -narrow), width);
  const end = Math.max(Math.min(right, width + narrow), x);
  const wide = Math.max(end - x, isLoud(bar.role) ? loudNarrow : narrow);
  return { bar, lane, x: isLoud(bar.role) && end - x < loudNarrow ? x - (loudNarrow - (end - x)) / 2 : x, width: wide };
}

// maxLanes bounds the lanes of a row. Further bars overlap.
const maxLanes = 24;

// pack gives each bar the first lane that is free at its start. Closed windows need none: they are the ground.
export function pack(bars: Bar[], now: number): { bars: Bar[]; lanes: number[]; count: number } {
  const sorted = [...bars].sort((a, b) => a.from - b.from);
  const ends: number[] = [];
  const lanes = sorted.map((bar) => {
    if (bar.look === 'closed') return 0;
    let lane = ends.findIndex((end) => end <= bar.from);
    if (lane < 0) lane = ends.length < maxLanes ? ends.length : ends.indexOf(Math.min(...ends));
    ends[lane] = Math.max(bar.to ?? Math.max(now, bar.from), bar.from);
    return lane;
  });
  return { bars: sorted, lanes, count: Math.max(ends.length, 1) };
}

const laneRow = 26;

export interface Packed {
  row: Row;
  bars: Bar[];
  lanes: number[];
  count: number;
  top: number;
  height: number;
  // bar is the height of a bar and lane that of its lane.
  bar: number;
  lane: number;
}

// layout stacks rows. A row with many lanes at once is higher.
export function layout(rows: Row[], now: number): { rows: Packed[]; height: number } {
  let top = 0;
  const packed = rows.map((row) => {
    const { bars, lanes, count } = pack(row.bars, now);
    const lane = count === 1 ? 14 : count <= 4 ? 9 : 6;
    const height = Math.max(laneRow, count * lane + 8);
    const one = { row, bars, lanes, count, top, height, lane, bar: count === 1 ? 14 : lane - 1 };
    top += height;
    return one;
  });
  return { rows: packed, height: top };
}

// shown returns the rows between two heights.
export function shown(rows: Packed[], top: number, height: number): Packed[] {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle] as Packed;
    if (row.top + row.height <= top) low = middle + 1;
    else high = middle;
  }
  const found: Packed[] = [];
  for (let i = low; i < rows.length && (rows[i] as Packed).top < top + height; i++) found.push(rows[i] as Packed);
  return found;
}

// boxes returns the bars of a row in view, the loudest last.
export function boxes(row: Packed, view: View, width: number, now: number): Box[] {
  const found: Box[] = [];
  for (let i = 0; i < row.bars.length; i++) {
    const bar = row.bars[i] as Bar;
    if (overlaps(bar, view, now)) found.push(boxOf(bar, row.lanes[i] ?? 0, view, width, now));
  }
  return byLoudness(found);
}

// yOf is the top of a lane within its row.
export const yOf = (row: Packed, lane: number) => (row.height - row.count * row.lane) / 2 + lane * row.lane;

// hit returns the topmost bar at a place within a row.
export function hit(row: Packed, found: Box[], x: number, y: number): Box | undefined {
  return found.findLast((box) => box.bar.look !== 'closed' && x >= box.x - 1 && x <= box.x + box.width + 1 && y >= yOf(row, box.lane) - 1 && y <= yOf(row, box.lane) + row.lane);
}

// rounded returns at most count+1 round values from 0 to at least most: durations in milliseconds, or plain numbers.
export function rounded(most: number, count: number, duration: boolean): number[] {
  const nice = duration ? [1, 2, 5, 10, 20, 50, 100, 200, 500, ...[1, 2, 5, 10, 15, 30].map((n) => n * second), ...[1, 2, 5, 10, 15, 30].map((n) => n * minute), ...[1, 2, 3, 6, 12].map((n) => n * hour), day] : [];
  const wanted = Math.max(most, Number.MIN_VALUE) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = nice.find((one) => one >= wanted) ?? (duration && wanted > day ? Math.ceil(wanted / day) * day : ([1, 2, 5, 10].find((one) => one * power >= wanted * 0.999999) ?? 10) * power);
  const values = [0];
  while ((values.at(-1) as number) < most * 0.999999) values.push(Number((values.length * step).toPrecision(12)));
  return values;
}

// fine writes short durations with a decimal.
export const fine = (ms: number) => (ms >= 1000 && ms < 10_000 && ms % 1000 !== 0 ? `${(ms / 1000).toFixed(1)} s` : span(ms));
