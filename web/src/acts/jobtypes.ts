// Actions on job types.
import type { Act } from '../action';
import { quote, segment } from '../api';
import { instant, zoneOf } from '../time';
import { filled, flag, schedule } from './shell';

const path = (name: string) => `/job-types/${segment(name)}`;

export const pauseJobType = (name: string): Act => ({
  label: 'Pause',
  title: `Pause ${name}?`,
  effect: 'It is not due until somebody resumes it. A running group continues.',
  fields: [{ name: 'note', label: 'Why', hint: 'Everybody sees it here and in the audit log.' }],
  request: ({ note }) => ({ method: 'POST', path: `${path(name)}/pause`, body: filled({ note }) }),
  roundsman: ({ note }) => `roundsman pause ${quote(name)}${flag('reason', note)}`,
  temporal: ({ note }) => schedule('toggle', name, ` --pause --reason ${quote(note || 'paused')}`),
});

export const resumeJobType = (name: string): Act => ({
  label: 'Resume',
  title: `Resume ${name}?`,
  effect: 'It is due again at its next scheduled time.',
  request: () => ({ method: 'POST', path: `${path(name)}/resume` }),
  roundsman: () => `roundsman resume ${quote(name)}`,
  temporal: () => schedule('toggle', name, ' --unpause --reason resumed'),
});

export const runJobType = (name: string, paused: boolean, closed: boolean): Act => ({
  label: 'Run now',
  title: `Run ${name} now?`,
  effect: paused ? 'It is paused; this run is an exception.' : 'A run starts as if it were due. If one is open, policy.overlap decides.',
  fields: closed ? [{ name: 'ignore', label: 'Although its window is closed', kind: 'checkbox', value: 'true' }] : [],
  request: ({ ignore }) => ({ method: 'POST', path: `${path(name)}/run`, body: filled({ ignore_window: ignore === 'true' }) }),
  roundsman: ({ ignore }) => `roundsman start ${quote(name)}${ignore === 'true' ? ' --ignore-window' : ''}`,
  temporal: ({ ignore }) => (ignore === 'true' ? { none: 'a trigger cannot say that the window does not matter' } : schedule('trigger', name)),
});

export const detect = (name: string): Act => ({
  label: 'Dry run',
  title: `What would ${name} do now?`,
  effect: 'It detects and executes nothing. The run lists what it found.',
  request: () => ({ method: 'POST', path: `${path(name)}/detect` }),
  roundsman: () => `roundsman start ${quote(name)} --dry-run`,
  temporal: () => ({ none: 'a dry run is started with settings that a Schedule cannot give it' }),
});

export const iso = (local: string | undefined) => (local ? instant(local)?.toISOString() ?? '' : '');

export const backfill = (name: string): Act => ({
  label: 'Backfill',
  title: `Run what ${name} was due for?`,
  effect: 'The runs that were due in this span start one after the other.',
  fields: [
    { name: 'from', label: 'From', kind: 'datetime-local', required: true, hint: `In the chosen time zone, ${zoneOf()}.` },
    { name: 'to', label: 'To', kind: 'datetime-local', required: true },
  ],
  request: ({ from, to }) => ({ method: 'POST', path: `${path(name)}/backfill`, body: { from: iso(from), to: iso(to) } }),
  roundsman: ({ from, to }) => `roundsman start ${quote(name)} --backfill ${iso(from)}..${iso(to)}`,
  temporal: ({ from, to }) => schedule('backfill', name, ` --start-time ${iso(from)} --end-time ${iso(to)} --overlap-policy BufferAll`),
});

export interface Submission {
  params: Record<string, unknown>;
  key: string;
  summary: string;
  priority: string;
  node: string;
  ignore: boolean;
}

export function submit(name: string, form: Submission): Act {
  const params = Object.fromEntries(Object.entries(form.params).filter(([, value]) => value !== undefined && value !== ''));
  const some = Object.keys(params).length > 0;
  const proposal = filled({ dedupe_key: form.key, summary: form.summary, priority: form.priority, node: form.node, params: some ? params : undefined });
  return {
    label: 'Run the job',
    title: `Run a job of ${name} now?`,
    effect: 'It runs in a run of its own, through everything that detected jobs go through.',
    request: () => ({ method: 'POST', path: `${path(name)}/submissions`, body: { proposals: [proposal], ...filled({ ignore_window: form.ignore }) } }),
    roundsman: () => `roundsman submit ${quote(name)} -f -${form.ignore ? ' --ignore-window' : ''} <<'END'\n${JSON.stringify(proposal)}\nEND`,
    temporal: () => ({ none: 'the control plane puts the job together with the settings of its type' }),
  };
}
