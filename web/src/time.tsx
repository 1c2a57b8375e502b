// Times in the chosen zone with its name, and relative to now.
import { useEffect, useState, useSyncExternalStore } from 'preact/compat';
import { clock } from './clock';

const key = 'roundsman.zone';
const listeners = new Set<() => void>();
let chosen = read();

function read(): string {
  try {
    return localStorage.getItem(key) ?? '';
  } catch {
    return ''; // Private windows may have no storage.
  }
}

const own = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

export function setZone(zone: string) {
  chosen = zone;
  try {
    localStorage.setItem(key, zone);
  } catch {
    // The choice lasts until the page is closed.
  }
  for (const listener of listeners) listener();
}

export const zoneOf = (): string => chosen || own;
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

function format(zone: string, long: boolean): Intl.DateTimeFormat {
  const name = `${zone} ${long}`;
  let found = formats.get(name);
  if (!found) {
    const options: Intl.DateTimeFormatOptions = {
      timeZone: zone,
      hourCycle: 'h23',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      timeZoneName: 'short',
    };
    if (long) Object.assign(options, { year: 'numeric', second: '2-digit' });
    else options.weekday = 'short';
    found = new Intl.DateTimeFormat('en-GB', options);
    formats.set(name, found);
  }
  return found;
}

function parts(at: Date, zone: string, long: boolean): Record<string, string> {
  return Object.fromEntries(
    format(zone, long)
      .formatToParts(at)
      .map((part) => [part.type, part.value]),
  );
}

// exact is 2026-11-22 18:05:12 CET.
export function exact(at: string | Date, zone = zoneOf()): string {
  const p = parts(new Date(at), zone, true);
  return `${p.year}-${p.month}-${p.day} ${p.hour}:${p.minute}:${p.second} ${p.timeZoneName}`;
}

// brief is Sun 11-22 18:05 CET.
export function brief(at: string | Date, zone = zoneOf()): string {
  const p = parts(new Date(at), zone, false);
  return `${p.weekday} ${p.month}-${p.day} ${p.hour}:${p.minute} ${p.timeZoneName}`;
}

export const dayOf = (at: string | Date, zone = zoneOf()): string => {
  const p = parts(new Date(at), zone, false);
  return `${p.weekday} ${p.month}-${p.day}`;
};

// span is 850 ms, 12 s, 4 min 10 s, 3 h 5 min, 2 d 4 h.
export function span(ms: number): string {
  if (ms < 0) return `-${span(-ms)}`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  const two = (large: number, name: string, small: number, smallName: string) =>
    small === 0 ? `${large} ${name}` : `${large} ${name} ${small} ${smallName}`;
  const min = Math.floor(s / 60);
  if (min < 60) return two(min, 'min', s % 60, 's');
  const h = Math.floor(min / 60);
  if (h < 48) return two(h, 'h', min % 60, 'min');
  return two(Math.floor(h / 24), 'd', h % 24, 'h');
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
    d: 86_400_000,
    w: 604_800_000,
  };
  let ms = 0;
  for (const [, value, unit] of (text ?? '').matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h|d|w)/g)) ms += Number(value) * (units[unit ?? ''] ?? 0);
  return ms;
}

const zero = '0001-01-01T00:00:00Z';
export const isSet = (at: string | undefined): at is string => at !== undefined && at !== '' && at !== zero;

// useNow advances all relative times together.
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
  return at;
}

export function Time({ at, relative = true }: { at?: string | undefined; relative?: boolean }) {
  useZone();
  const current = useNow();
  if (!isSet(at)) return <span class="faint">–</span>;
  const distance = current - Date.parse(at);
  const told = Math.abs(distance) < 1000 ? 'now' : distance > 0 ? `${span(distance)} ago` : `in ${span(-distance)}`;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative ? told : brief(at)}
    </time>
  );
}

// Took shows a duration.
export function Took({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const current = useNow();
  if (!isSet(from)) return <span class="faint">–</span>;
  return <span class="number">{span((isSet(to) ? Date.parse(to) : current) - Date.parse(from))}</span>;
}
