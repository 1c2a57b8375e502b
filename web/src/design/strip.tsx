// The last runs of a job type, the newest at the right. Height is duration, color is the outcome, and a glyph below
// repeats the outcome. It is one picture with few elements, since a list has hundreds.
import { span } from '../time';
import { type Role, roleOf } from './state';

export interface Past {
  word: string;
  role?: Role | undefined;
  // took is in milliseconds.
  took: number;
}

const bar = 6;
const gap = 2;
const high = 16;

// glyphs are outlines of 6 by 5 pixels: a cross, a clock, half a square, a diamond, two lines, a slash, arrows.
const glyphs: Partial<Record<Role, string>> = {
  failed: 'M0 0l6 5M6 0l-6 5',
  timeout: 'M3 0v3h3',
  partial: 'M0 0h6v5h-6zM3 0h3v5h-3z',
  person: 'M3 0l3 2.5l-3 2.5l-3 -2.5z',
  paused: 'M2 0v5M4 0v5',
  waiting: 'M0 2.5h6',
  running: 'M1 0l4 2.5l-4 2.5z',
  skipped: 'M0 0l2.5 2.5l-2.5 2.5M3 0l2.5 2.5l-2.5 2.5',
  upstream: 'M0 0l2.5 2.5l-2.5 2.5',
  canceled: 'M0 5l6 -5',
};

export function Strip({ runs, label, at }: { runs: Past[]; label?: string; at?: number | undefined }) {
  if (runs.length === 0) return <span class="faint">none yet</span>;
  const longest = Math.max(...runs.map((run) => run.took), 1);
  const bars = new Map<Role, string>();
  const marks = new Map<Role, string>();
  for (const [i, { word, role: given, took }] of runs.entries()) {
    const role = given ?? roleOf(word) ?? 'unknown';
    const height = Math.round(3 + (high - 3) * (took / longest));
    const x = i * (bar + gap);
    bars.set(role, `${bars.get(role) ?? ''}M${x} ${high}v-${height}h${bar}v${height}z`);
    const glyph = glyphs[role];
    if (glyph) marks.set(role, (marks.get(role) ?? '') + moved(glyph, x, high + 3));
  }
  const text = label && told(runs, label);
  return (
    <svg class="strip" width={runs.length * (bar + gap) - gap} height={high + 9} {...(text ? { role: 'img', 'aria-label': text } : { 'aria-hidden': 'true' as const })}>
      {text && <title>{text}</title>}
      {[...bars].map(([role, d]) => (
        <path key={role} class={role} d={d} />
      ))}
      {[...marks].map(([role, d]) => (
        <path key={`${role} mark`} class={`${role} mark`} d={d} />
      ))}
      {at !== undefined && <rect class="at" x={at * (bar + gap) - 1} width={bar + 2} height={high + 9} />}
    </svg>
  );
}

// moved shifts the absolute beginnings of an outline.
const moved = (d: string, x: number, y: number) => d.replace(/M([\d.]+) ([\d.]+)/g, (_, a, b) => `M${x + Number(a)} ${y + Number(b)}`);

function told(runs: Past[], label: string): string {
  const counts = new Map<string, number>();
  for (const { word } of runs) counts.set(word, (counts.get(word) ?? 0) + 1);
  const last = runs.at(-1);
  return `${label}: ${[...counts].map(([word, n]) => `${n} ${word}`).join(', ')}; the last ${last?.word}${last && last.took > 0 ? ` after ${span(last.took)}` : ''}`;
}
