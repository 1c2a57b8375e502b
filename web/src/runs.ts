// Runs and their items: where they are in the API and in the console, and what can be
// done to them.
import { type ComponentChildren, h } from 'preact';
import type { Act } from './action';
import { quote, segment } from './api';
import { href, inPath, runHref } from './route';
import type { Item, Run, RunRef, Snapshot } from './types';

export const runPath = (id: string) => `/runs/${segment(inPath(id))}`;
export const itemPath = (run: string, id: string) => `${runPath(run)}/items/${segment(inPath(id))}`;
export const itemHref = (run: string, id: string) => href('runs', inPath(run), 'items', id);

export const isOpen = (run: Run) => run.status === 'Running' || run.status === 'Paused';
// stateOfRun is one word: how it ended, or that it goes on.
export const stateOfRun = (run: Run) => (isOpen(run) ? run.status : run.outcome || run.status).toLowerCase();

const why = { name: 'note', label: 'Why', hint: 'Kept with the run, where it is shown to others.' };
const flag = (name: string, text: string | undefined) => (text ? ` --${name} ${quote(text)}` : '');

export const cancelRun = (id: string): Act => ({
  label: 'Cancel',
  title: `Cancel ${id}?`,
  effect: 'Jobs that run are stopped, the rest never starts. What has ended stays as it is.',
  danger: true,
  fields: [{ ...why, name: 'reason' }],
  request: ({ reason }) => ({ method: 'POST', path: `${runPath(id)}/cancel`, body: reason ? { reason } : {} }),
  roundsman: ({ reason }) => `roundsman runs cancel ${quote(id)}${flag('reason', reason)}`,
  temporal: () => `temporal workflow cancel --workflow-id ${quote(id)}`,
});

export const pauseRun = (id: string): Act => ({
  label: 'Pause',
  title: `Pause ${id}?`,
  effect: 'No more jobs start until it is resumed. What runs goes on.',
  fields: [why],
  request: ({ note }) => ({ method: 'POST', path: `${runPath(id)}/pause`, body: note ? { note } : {} }),
  roundsman: ({ note }) => `roundsman runs pause ${quote(id)}${flag('note', note)}`,
});

export const resumeRun = (id: string): Act => ({
  label: 'Resume',
  title: `Resume ${id}?`,
  effect: 'Jobs start again at once.',
  request: () => ({ method: 'POST', path: `${runPath(id)}/resume` }),
  roundsman: () => `roundsman runs resume ${quote(id)}`,
});

const retryRun = (id: string, preview: ComponentChildren): Act => ({
  label: 'Retry',
  title: `Retry ${id}?`,
  effect: preview,
  request: () => ({ method: 'POST', path: `${runPath(id)}/retry` }),
  roundsman: () => `roundsman dag retry ${quote(id)} --detach`,
  done: (answer) => {
    const { workflow_id: next } = answer as RunRef;
    return h('p', null, 'Started: ', h('a', { href: runHref(next) }, next));
  },
});

const releaseRun = (id: string): Act => ({
  label: 'Release',
  title: `Let ${id} end?`,
  effect: 'It is held because something failed. It ends as it is now.',
  request: () => ({ method: 'POST', path: `${runPath(id)}/release` }),
  roundsman: () => `roundsman dag release ${quote(id)}`,
});

const addTasks = (id: string): Act => ({
  label: 'Add tasks',
  title: `Add tasks to ${id}?`,
  effect: 'They run as if they had been in the DAG from the start. A task may need any other, and be needed by one that has not begun.',
  fields: [
    {
      name: 'text',
      label: 'Tasks, as in a DAG, with before beside needs',
      kind: 'textarea',
      required: true,
      hint: 'YAML, like: - {id: check-again, needs: check, command: [check-disks]}',
    },
  ],
  request: ({ text }) => ({ method: 'POST', path: `${runPath(id)}/tasks`, body: { text } }),
  roundsman: ({ text }) => `roundsman dag add-tasks ${quote(id)} - <<'END'\n${text ?? ''}\nEND`,
});

// actsOnRun are the buttons of a run in its present state. The preview says what a retry
// would do.
export function actsOnRun(run: Snapshot, preview: ComponentChildren): Act[] {
  const id = run.workflow_id;
  if (!isOpen(run)) return run.kind === 'dag' && run.outcome !== 'completed' ? [retryRun(id, preview)] : [];
  return [
    ...(run.phase === 'held' ? [releaseRun(id)] : []),
    ...(run.kind === 'dag' ? [addTasks(id)] : []),
    run.paused ? resumeRun(id) : pauseRun(id),
    cancelRun(id),
  ];
}

// onItem is what one request does to one item.
function onItem(item: Pick<Item, 'run' | 'id'>, action: string, act: Pick<Act, 'label' | 'effect' | 'danger'>, line: string, field = 'note'): Act {
  return {
    ...act,
    title: `${act.label} ${item.id}?`,
    fields: [{ ...why, name: field }],
    request: (values) => ({
      method: 'POST',
      path: `${itemPath(item.run.workflow_id, item.id)}/${action}`,
      body: values[field] ? { [field]: values[field] } : {},
    }),
    roundsman: (values) => `${line}${flag(field, values[field])}`,
  };
}

export const approve = (item: Pick<Item, 'run' | 'id'>): Act =>
  onItem(
    item,
    'approve',
    { label: 'Approve', effect: 'The task succeeds, and what needs it goes on.' },
    `roundsman dag approve ${quote(item.run.workflow_id)} ${quote(item.id)}`,
  );

export const reject = (item: Pick<Item, 'run' | 'id'>): Act =>
  onItem(item, 'reject', { label: 'Reject', effect: 'The task fails.', danger: true }, `roundsman dag reject ${quote(item.run.workflow_id)} ${quote(item.id)}`);

const failed = new Set(['failed', 'upstream_failed', 'canceled']);
const again = new Set(['failed', 'canceled', 'succeeded']);
const waits = new Set(['pending', 'ready']);
const goesOn = new Set(['pending', 'assigned', 'running', 'recalling', 'held', 'ready']);

// actsOnItem are the buttons of an item in its present state, while its run is open.
export function actsOnItem(item: Item, open: boolean): Act[] {
  if (!open) return [];
  const run = quote(item.run.workflow_id);
  const task = item.kind !== 'job';
  const acts: Act[] = [];
  if (item.wait?.code === 'AWAITING_APPROVAL' || (item.kind === 'approval' && item.state === 'running')) {
    acts.push(approve(item), reject(item));
  }
  if (task && again.has(item.state)) {
    acts.push({
      ...onItem(item, 'rerun', { label: 'Retry', effect: 'It runs again, and everything after it.' }, `roundsman dag retry ${run} --from ${quote(item.id)}`),
      fields: [],
    });
  }
  if (task && (waits.has(item.state) || failed.has(item.state))) {
    acts.push(
      onItem(item, 'skip', { label: 'Skip', effect: 'It counts as done without running; what it blocked goes on.' }, `roundsman dag skip ${run} ${quote(item.id)}`, 'reason'),
    );
  }
  if (goesOn.has(item.state)) {
    const line = task ? `roundsman runs cancel ${run} --task ${quote(item.id)}` : `roundsman jobs cancel ${quote(`${item.run.workflow_id}/${item.id}`)}`;
    acts.push(onItem(item, 'cancel', { label: 'Cancel', effect: 'It is stopped, or never starts. The others go on.', danger: true }, line, 'reason'));
  }
  if (!task && item.state === 'running') {
    acts.push(
      onItem(
        item,
        'expire',
        { label: 'Give up', effect: 'It ends at once, whatever its handler does: for one that does not hear of a cancellation.', danger: true },
        `roundsman jobs expire ${quote(`${item.run.workflow_id}/${item.id}`)}`,
        'reason',
      ),
    );
  }
  return acts;
}
