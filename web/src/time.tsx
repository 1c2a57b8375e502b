// Times in the chosen zone with its name, and relative to now.
import { useEffect, useRef, useState, useSyncExternalStore } from 'preact/compat';
import { clock, frozen } from './clock';
import { param, setParams } from './route';
import { store, stored } from './stored';
import { offsetOf } from './timeline/zone';

const key = 'roundsman.zone';
const listeners = new Set<() => void>();
let chosen = stored(key) ?? '';
let linked = inAddress();

const own = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

// inAddress is the zone of a view that was handed over. It is not kept: other pages have the reader's own.
function inAddress(): string {
  const zone = param('zone') ?? '';
  try {
    if (zone) Intl.DateTimeFormat('en', { timeZone: zone });
    return zone;
  } catch {
    return '';
  }
}

globalThis.addEventListener?.('hashchange', () => {
  linked = inAddress();
  tell();
});

export function setZone(zone: string) {
  chosen = zone;
  store(key, zone);
  if (linked) setParams({ zone: '' });
  else tell();
}

function tell() {
  for (const listener of listeners) listener();
}

export const zoneOf = (): string => linked || chosen || own;
export const zones = (): string[] => [...new Set([own, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

export const useZone = () =>
  useSyncExternalStore(
    ((listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }) as never,
    zoneOf,
  );

const formats = new Map<string, Intl.DateTimeFormat>();

export function partsOf(at: Date, zone = zoneOf()): Record<string, string> {
  let found = formats.get(zone);
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: 'short',
      day: 'numeric',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    formats.set(zone, found);
  }
  // Newer browsers write Sept.
  return Object.fromEntries(found.formatToParts(at).map((part) => [part.type, part.type === 'month' ? part.value.slice(0, 3) : part.value]));
}

// place is the short name of a zone: Berlin, New York, UTC.
export const place = (zone: string) => (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');

// exact is Tue 24 Nov 2026, 02:51:14 Berlin.
export function exact(at: string | Date, zone = zoneOf()): string {
  const p = partsOf(new Date(at), zone);
  return `${p.weekday} ${p.day} ${p.month} ${p.year}, ${p.hour}:${p.minute}:${p.second} ${place(zone)}`;
}

// brief is Tue 24 Nov, 02:51, or Fri 1 Jan 2027, 00:00 in another year.
export function brief(at: string | Date, zone = zoneOf()): string {
  const p = partsOf(new Date(at), zone);
  return `${p.weekday} ${p.day} ${p.month}${p.year === partsOf(new Date(clock()), zone).year ? '' : ` ${p.year}`}, ${p.hour}:${p.minute}`;
}

// clockOf is 02:51:14.
export function clockOf(at: string | Date, zone = zoneOf()): string {
  const p = partsOf(new Date(at), zone);
  return `${p.hour}:${p.minute}:${p.second}`;
}

// dayOf is Tue 24 Nov.
export const dayOf = (at: string | Date, zone = zoneOf()): string => brief(at, zone).split(',')[0] ?? '';

// instants are those in a text of the API. A time in the name of a run is a part of the name.
const instants = /(?<![\w/~-])\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)(?![\w~])/g;

// localized writes the instants in a text in the chosen zone.
export const localized = (text: string, zone = zoneOf()): string => text.replace(instants, (at) => (Number.isNaN(Date.parse(at)) ? at : brief(at, zone)));

// instant is the instant of a clock in a zone: 2026-11-24T02:51. In the hour that a change to winter time repeats it is the
// first one; an hour that does not exist is moved on, as Temporal does.
export function instant(local: string, zone = zoneOf()): Date | undefined {
  const wanted = Date.parse(`${local}${local.length === 16 ? ':00' : ''}Z`);
  return Number.isNaN(wanted) ? undefined : new Date(instantOf(wanted, zone));
}

function instantOf(wanted: number, zone: string): number {
  const offset = offsetOf(zone);
  const found = [wanted - day, wanted + day].map((near) => wanted - offset(near));
  return found.find((at) => at + offset(at) === wanted) ?? found[0] ?? wanted;
}

// dayAround is from the first to the last millisecond of the day of an instant in the zone.
export function dayAround(at: string, zone = zoneOf()): { from: number; to: number } {
  const local = Date.parse(at) + offsetOf(zone)(Date.parse(at));
  const midnight = Math.floor(local / day) * day;
  return { from: instantOf(midnight, zone), to: instantOf(midnight + day, zone) - 1 };
}

const day = 86_400_000;

// A unit is kept up to this many of it; days begin at 48 hours.
const kept = 120;
const units: [ms: number, most: number, name: string][] = [
  [1000, kept, 's'],
  [60_000, kept, 'min'],
  [3_600_000, 47, 'h'],
  [day, Number.POSITIVE_INFINITY, 'days'],
];

// span is 850 ms, 41 s, 78 min, 4 h, 12 days: whole numbers of one unit.
export function span(ms: number): string {
  if (ms < 0) return `-${span(-ms)}`;
  if (ms < 1000) return `${Math.floor(ms)} ms`;
  const [size, , name] = units.find(([size, most]) => Math.floor(ms / size) <= most) ?? [day, 0, 'days'];
  return `${Math.floor(ms / size).toLocaleString('en')} ${name}`;
}

// duration parses the API's durations, such as 1h30m5.2s, to milliseconds.
export function duration(text: string | undefined): number {
  const units: Record<string, number> = {
    ns: 1e-6,
    us: 1e-3,
    µs: 1e-3,
    ms: 1,
    s: 1000,
    m: 60_000,
    h: 3_600_000,
    d: day,
    w: 604_800_000,
  };
  let ms = 0;
  for (const [, value, unit] of (text ?? '').matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h|d|w)/g)) ms += Number(value) * (units[unit ?? ''] ?? 0);
  return ms;
}

const zero = '0001-01-01T00:00:00Z';
export const isSet = (at: string | undefined): at is string => at !== undefined && at !== '' && at !== zero;

// useNow advances all relative times together. A view that was handed over stands still.
const ticking = new Set<(now: number) => void>();
setInterval(() => {
  const now = clock();
  for (const tick of ticking) tick(now);
}, 1000);

export function useNow(): number {
  const [at, set] = useState(clock);
  useEffect(() => {
    ticking.add(set);
    return () => void ticking.delete(set);
  }, []);
  return frozen() ?? at;
}

// useTold is a text of the current time. Its element is rendered when the text changes, not each second.
export function useTold(tell: (now: number) => string): string {
  const [, again] = useState(0);
  const text = tell(frozen() ?? clock());
  const shown = useRef({ tell, text });
  shown.current = { tell, text };
  useEffect(() => {
    const tick = (now: number) => {
      const { tell, text } = shown.current;
      if (tell(frozen() ?? now) !== text) again((n) => n + 1);
    };
    ticking.add(tick);
    return () => void ticking.delete(tick);
  }, []);
  return text;
}

export const told = (distance: number) => (Math.abs(distance) < 1000 ? 'now' : distance > 0 ? `${span(distance)} ago` : `in ${span(-distance)}`);

export function Time({ at, relative = true }: { at?: string | undefined; relative?: boolean }) {
  useZone();
  const since = useTold((now) => (isSet(at) ? told(now - Date.parse(at)) : ''));
  if (!isSet(at)) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={relative ? exact(at) : `${exact(at)}, ${since}`}>
      {relative ? since : brief(at)}
    </time>
  );
}

// Both is 03:08:11, 4 min ago: the clock and the age of an object.
export function Both({ at }: { at?: string | undefined }) {
  useZone();
  const text = useTold((now) => {
    if (!isSet(at)) return '';
    const distance = now - Date.parse(at);
    return `${Math.abs(distance) < day ? clockOf(at) : brief(at)}, ${told(distance)}`;
  });
  if (!isSet(at)) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {text}
    </time>
  );
}

// Took shows a duration.
export function Took({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const end = isSet(to) ? to : undefined;
  const text = useTold((now) => (isSet(from) ? span((end ? Date.parse(end) : now) - Date.parse(from)) : ''));
  if (!isSet(from)) return <span class="faint">–</span>;
  return (
    <span class="number" title={end ? `${exact(from)} to ${exact(end)}` : `since ${exact(from)}`}>
      {text}
    </span>
  );
}
