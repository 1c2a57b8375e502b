// A state has a glyph, a word and a color, never just one of them. The word is the API's.

export type Role =
  | 'failed'
  | 'timeout'
  | 'partial'
  | 'person'
  | 'paused'
  | 'waiting'
  | 'running'
  | 'done'
  | 'skipped'
  | 'upstream'
  | 'canceled'
  | 'plan'
  | 'unknown';

const words: Record<Role, string[]> = {
  failed: ['failed', 'terminated', 'missed', 'OFFLINE', 'fail', 'Failed', 'Terminated', 'refused', 'stale', 'rejected', 'fault', 'worker_lost'],
  timeout: ['timeout', 'TimedOut', 'expired'],
  partial: ['partial'],
  person: ['held', 'disabled', 'no_worker', 'warn', 'warning', 'worker_suspect'],
  paused: ['paused', 'off', 'CORDONED', 'DRAINING'],
  waiting: ['waiting', 'delayed', 'recalling'],
  running: ['open', 'running', 'Running', 'executing', 'detecting', 'PREPARING'],
  done: ['completed', 'ran', 'ONLINE', 'ok', 'ready', 'active', 'runs', 'approved'],
  skipped: ['skipped'],
  upstream: ['upstream_failed'],
  canceled: ['canceled'],
  plan: ['pending', 'due', 'assigned', 'window_closed'],
  unknown: ['SUSPECT', 'UNREACHABLE', 'unknown', 'not_started'],
};

const roles = new Map(Object.entries(words).flatMap(([role, all]) => all.map((word) => [word, role as Role])));

export const roleOf = (word: string): Role | undefined => roles.get(word);

// isFailed is true of items; a run may also be a failure in part.
export const isFailed = (role: string | undefined) => role === 'failed' || role === 'timeout';
export const isFailure = (role: string | undefined) => isFailed(role) || role === 'partial';

// loudness orders marks for drawing: the most urgent one comes last, so that nothing covers it.
export const loudness = (role: string | undefined) => (isFailed(role) ? 5 : isFailure(role) ? 4 : ({ person: 3, waiting: 2, running: 2 }[role ?? ''] ?? 0));

// looks returns the classes of a role, for its color and its glyph.
export const looks = (role: Role | undefined) => (role ? `${role} g-${role}` : 'plain');

// State writes the word beside the glyph; a quiet one has it for screen readers and as a tooltip.
export function State({ word, role, title, quiet }: { word: string; role?: Role; title?: string | undefined; quiet?: boolean }) {
  return (
    <span class={`state ${looks(role ?? roleOf(word))}`} title={title ?? (quiet ? spoken(word) : undefined)}>
      {quiet ? <span class="aloud">{spoken(word)}</span> : spoken(word)}
    </span>
  );
}

// spoken writes upstream_failed and ONLINE as words. A code of several words stays unchanged.
export const spoken = (word: string) => (/^[A-Z]+$/.test(word) ? word.toLowerCase() : word === word.toLowerCase() ? word.replaceAll('_', ' ') : word);

// Pill is the state of a page, in its header.
export const Pill = ({ word, role }: { word: string; role?: Role | undefined }) => (
  <span class={`pill ${looks(role ?? roleOf(word))}`}>
    <span class="word">{spoken(word)}</span>
  </span>
);

// icon marks the tab of the browser if the page has a failure or needs a person.
export function icon(role: Role | undefined) {
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const name = isFailure(role) ? 'favicon-failed' : role === 'person' ? 'favicon-person' : 'favicon';
  const address = `./${name}.svg`;
  if (link && link.getAttribute('href') !== address) link.href = address;
}
