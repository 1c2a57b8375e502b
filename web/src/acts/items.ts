// Actions on jobs and tasks.
import type { Act } from '../action';
import { quote } from '../api';
import { itemPath } from '../runs';
import type { Item } from '../types';
import { filled, flag, update } from './shell';

// Of identifies an item.
export type Of = Pick<Item, 'run' | 'id'>;

interface Lines {
  roundsman: string;
  temporal: (id: string, text: string | undefined) => string;
}

// onItem is an action with one request about one item. field is its optional text.
function onItem(item: Of, action: string, act: Pick<Act, 'label' | 'effect' | 'danger'>, lines: Lines, field: 'note' | 'reason' | '' = 'note'): Act {
  return {
    ...act,
    title: `${act.label} ${item.id}?`,
    fields: field === '' ? [] : [{ name: field, label: 'Why', hint: 'Kept with the run, where it is shown to others.' }],
    request: (values) => ({
      method: 'POST',
      path: `${itemPath(item.run.workflow_id, item.id)}/${action}`,
      body: field === '' ? {} : filled({ [field]: values[field] }),
    }),
    roundsman: (values) => `${lines.roundsman}${field === '' ? '' : flag('reason', values[field])}`,
    temporal: (values) => lines.temporal(item.run.workflow_id, field === '' ? undefined : values[field]),
  };
}

const ref = (item: Of) => quote(`${item.run.workflow_id}/${item.id}`);

export const approve = (item: Of): Act =>
  onItem(
    item,
    'approve',
    { label: 'Approve', effect: 'The task succeeds, and what needs it continues.' },
    { roundsman: `roundsman approve ${ref(item)}`, temporal: (run, note) => update(run, 'approve', { task: item.id, note }) },
  );

export const reject = (item: Of): Act =>
  onItem(
    item,
    'reject',
    { label: 'Reject', effect: 'The task fails.', danger: true },
    { roundsman: `roundsman reject ${ref(item)}`, temporal: (run, note) => update(run, 'reject', { task: item.id, note }) },
  );

export const rerun = (item: Of): Act =>
  onItem(
    item,
    'rerun',
    { label: 'Retry', effect: 'It runs again, and everything after it.' },
    {
      roundsman: `roundsman retry ${ref(item)}`,
      temporal: (run) => update(run, 'rerun', { task: item.id }),
    },
    '',
  );

export const skip = (item: Of): Act =>
  onItem(
    item,
    'skip',
    { label: 'Skip', effect: 'It counts as done without running; what it blocked continues.' },
    { roundsman: `roundsman skip ${ref(item)}`, temporal: (run, reason) => update(run, 'skip', { task: item.id, reason }) },
    'reason',
  );

const stop: Pick<Act, 'label' | 'effect' | 'danger'> = { label: 'Cancel', effect: 'It is stopped, or never starts. The others continue.', danger: true };

export const cancelTask = (item: Of): Act =>
  onItem(
    item,
    'cancel',
    stop,
    {
      roundsman: `roundsman cancel ${ref(item)}`,
      temporal: (run, reason) => update(run, 'cancel-item', { item: item.id, reason }),
    },
    'reason',
  );

export const cancelJob = (item: Of): Act =>
  onItem(
    item,
    'cancel',
    stop,
    { roundsman: `roundsman cancel ${ref(item)}`, temporal: (run, reason) => update(run, 'cancel-item', { item: item.id, reason }) },
    'reason',
  );

export const expireJob = (item: Of): Act =>
  onItem(
    item,
    'expire',
    { label: 'Give up', effect: 'It ends at once, whatever its handler does: for one that does not hear of a cancellation.', danger: true },
    { roundsman: `roundsman cancel --force ${ref(item)}`, temporal: (run, reason) => update(run, 'cancel-item', { item: item.id, force: true, reason }) },
    'reason',
  );

// buttons by the ids of their operations in the API.
const buttons: Record<string, (item: Item) => Act> = {
  'approve-item': approve,
  'reject-item': reject,
  'rerun-item': rerun,
  'skip-item': skip,
  'cancel-item': (item) => (item.kind === 'job' ? cancelJob(item) : cancelTask(item)),
  'expire-item': expireJob,
};

// actsOnItem returns the buttons of the operations that the API lists for an item.
export const actsOnItem = (item: Item): Act[] => (item.standing.operations ?? []).flatMap((operation) => buttons[operation]?.(item) ?? []);
