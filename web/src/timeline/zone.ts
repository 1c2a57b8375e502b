// The distance of a zone from UTC.
const formats = new Map<string, Intl.DateTimeFormat>();
const known = new Map<string, number>();

// quarter is the precision of all changes of a zone.
const quarter = 15 * 60_000;
const mostKnown = 5000;

// offsetOf returns the distance from UTC in milliseconds at an instant.
export const offsetOf = (zone: string) => (at: number): number => {
  const floor = Math.floor(at / quarter) * quarter;
  const key = `${zone} ${floor}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' });
    formats.set(zone, format);
  }
  const part = Object.fromEntries(format.formatToParts(floor).map(({ type, value }) => [type, Number(value)])) as Record<string, number>;
  const offset = Date.UTC(part.year ?? 0, (part.month ?? 1) - 1, part.day ?? 1, part.hour ?? 0, part.minute ?? 0) - floor;
  if (known.size > mostKnown) known.clear();
  known.set(key, offset);
  return offset;
};
