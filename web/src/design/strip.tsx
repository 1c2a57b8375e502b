// The last runs of a job type, the newest at the right. Height is duration, color is the outcome, and a mark
// below shows a run that did not complete. It is one picture with few elements, since a list has hundreds.
import { span } from '../time';
import { type Role, roleOf } from './state';

export interface Past {
  word: string;
  // took is in milliseconds.
  took: number;
}

const bar = 5;
const gap = 2;
const high = 18;

export function Strip({ runs, label }: { runs: Past[]; label: string }) {
  if (runs.length === 0) return <span class="faint">none yet</span>;
  const longest = Math.max(...runs.map((run) => run.took), 1);
  const bars = new Map<Role, string>();
  const marks = new Map<Role, string>();
  for (const [i, { word, took }] of runs.entries()) {
    const role = roleOf(word) ?? 'unknown';
    const height = Math.round(3 + (high - 3) * (took / longest));
    const x = i * (bar + gap);
    bars.set(role, `${bars.get(role) ?? ''}M${x} ${high}v-${height}h${bar}v${height}z`);
    if (role !== 'done' && role !== 'unknown') marks.set(role, `${marks.get(role) ?? ''}M${x} ${high + 2}h${bar}v2h-${bar}z`);
  }
  const counts = new Map<string, number>();
  for (const { word } of runs) counts.set(word, (counts.get(word) ?? 0) + 1);
  const last = runs.at(-1);
  const text = `${label}: ${[...counts].map(([word, n]) => `${n} ${word}`).join(', ')}; the last ${last?.word}${last && last.took > 0 ? ` after ${span(last.took)}` : ''}`;
  return (
    <svg class="strip" width={runs.length * (bar + gap) - gap} height={high + 4} role="img" aria-label={text}>
      <title>{text}</title>
      {[...bars].map(([role, d]) => (
        <path key={role} class={role} d={d} />
      ))}
      {[...marks].map(([role, d]) => (
        <path key={`${role} mark`} class={`${role} mark`} d={d} />
      ))}
    </svg>
  );
}
