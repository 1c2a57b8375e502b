// Actions on runs.
import { h } from 'preact';
import type { Act, Values } from '../action';
import { quote } from '../api';
import { later } from '../later';
import { RunName, runName } from '../names';
import { runPath } from '../runs';
import type { Run, RunRef } from '../types';
import { plural } from '../words';
import { filled, flag, signal, update } from './shell';

const Preview = later(() => import('../pages/retry').then((m) => m.Preview));

const why = { name: 'note', label: 'Why', hint: 'Kept with the run, where it is shown to others.' };

export const cancelRun = (id: string): Act => ({
  label: 'Cancel',
  title: `Cancel ${runName(id)}?`,
  effect: 'Jobs that run are stopped, the rest never starts. What has ended stays as it is.',
  danger: true,
  fields: [{ ...why, name: 'reason' }],
  request: ({ reason }) => ({ method: 'POST', path: `${runPath(id)}/cancel`, body: filled({ reason }) }),
  roundsman: ({ reason }) => `roundsman cancel ${quote(id)}${flag('reason', reason)}`,
  temporal: ({ reason }) =>
    reason ? signal(id, 'cancel', { reason }) : `temporal workflow cancel --workflow-id ${quote(id)}`,
});

export const pauseRun = (id: string): Act => ({
  label: 'Pause',
  title: `Pause ${runName(id)}?`,
  effect: 'No more jobs start until it is resumed. What runs continues.',
  fields: [why],
  request: ({ note }) => ({ method: 'POST', path: `${runPath(id)}/pause`, body: filled({ note }) }),
  roundsman: ({ note }) => `roundsman pause ${quote(id)}${flag('reason', note)}`,
  temporal: ({ note }) => signal(id, 'pause', { note }),
});

export const resumeRun = (id: string): Act => ({
  label: 'Resume',
  title: `Resume ${runName(id)}?`,
  effect: 'Jobs start again at once.',
  request: () => ({ method: 'POST', path: `${runPath(id)}/resume` }),
  roundsman: () => `roundsman resume ${quote(id)}`,
  temporal: () => signal(id, 'resume'),
});

// again retries a part of a run, chosen by the request body, and shows a preview.
function again(id: string, choice: (values: Values) => Record<string, unknown>, flags: (values: Values) => string, act: Partial<Act> & Pick<Act, 'label'>): Act {
  return {
    verb: 'Retry',
    title: `Retry ${runName(id)}?`,
    effect: (values, set) => h(Preview, { id, body: choice(values), values, set }),
    request: (values) => ({ method: 'POST', path: `${runPath(id)}/retry`, body: choice(values) }),
    roundsman: (values) => `roundsman retry ${quote(id)}${flags(values)}`,
    temporal: () => ({ none: 'the control plane puts the new run together with the results of this one' }),
    done: (answer) => {
      const { workflow_id: next } = answer as RunRef;
      if (next === id) return h('p', null, 'Its failed tasks run again.');
      return h('p', null, 'Started: ', h(RunName, { id: next }));
    },
    ...act,
  };
}

// retryRun retries the failed jobs of a run. In a run of a job type, missed adds the jobs that were never executed. Without a
// failed job, missed is preselected.
export function retryRun({ workflow_id: id, kind, progress }: Pick<Run, 'workflow_id' | 'kind' | 'progress'>): Act {
  const failed = progress?.failed ?? 0;
  const label = failed > 0 ? `Retry ${failed.toLocaleString('en')} failed` : 'Retry';
  if (kind === 'dag') return again(id, () => ({}), () => '', { label, each });
  const missed = (values: Values) => (values.missed ? values.missed === 'true' : progress !== undefined && failed === 0);
  return again(id, (values) => filled({ failed: true, missed: missed(values) }), (values) => ` --failed${missed(values) ? ' --missed' : ''}`, {
    label,
    each,
    confirm: (values) => (missed(values) ? 'Retry' : label),
  });
}

const each: NonNullable<Act['each']> = {
  effect: 'A new run of each executes what failed again, or else what was not executed. What was done does not run again.',
  fields: [{ name: 'missed', label: 'Of job types, also the jobs that were not executed', kind: 'checkbox' }],
};

// retryJobs retries these jobs of an ended run.
export const retryJobs = (id: string, jobs: string[]): Act =>
  again(id, () => ({ items: jobs }), () => jobs.map((job) => ` --item ${quote(job)}`).join(''), {
    label: `Retry ${jobs.length.toLocaleString('en')}`,
    title: `Retry ${plural(jobs.length, 'job')} of ${runName(id)}?`,
    disabled: jobs.length > mostJobs ? `One retry has at most ${mostJobs.toLocaleString('en')} chosen jobs.` : undefined,
  });

// mostJobs is the most of the API.
const mostJobs = 1000;

export const releaseRun = (id: string): Act => ({
  label: 'Release',
  title: `Let ${runName(id)} end?`,
  effect: 'It is held because something failed. It ends as it is now.',
  request: () => ({ method: 'POST', path: `${runPath(id)}/release` }),
  roundsman: () => `roundsman resume ${quote(id)} --kind failure`,
  temporal: () => update(id, 'release', {}),
});

export const addTasks = (id: string): Act => ({
  label: 'Add tasks',
  title: `Add tasks to ${runName(id)}?`,
  effect: 'They run as if they had been in the DAG from the start. A task may need any other, and be needed by one that has not begun.',
  fields: [
    {
      name: 'text',
      label: 'Tasks, as in a DAG, with before besides needs',
      kind: 'textarea',
      required: true,
      hint: 'YAML, like: - {id: check-again, needs: check, command: [check-disks]}',
    },
  ],
  request: ({ text }) => ({ method: 'POST', path: `${runPath(id)}/tasks`, body: { text } }),
  roundsman: ({ text }) => `roundsman set ${quote(id)} -f - <<'END'\n${text ?? ''}\nEND`,
  temporal: ({ text }) => update(id, 'add-tasks', { text }),
});

// actsOnRun returns the buttons of the operations that the API lists for a run.
export function actsOnRun(run: Run): Act[] {
  const id = run.workflow_id;
  const acts: Record<string, () => Act> = {
    'release-run': () => releaseRun(id),
    'resume-run': () => resumeRun(id),
    'pause-run': () => pauseRun(id),
    'add-tasks': () => addTasks(id),
    'cancel-run': () => cancelRun(id),
    'retry-run': () => retryRun(run),
  };
  return (run.standing.operations ?? []).flatMap((operation) => acts[operation]?.() ?? []);
}
