// Actions on workers.
import type { Act } from '../action';
import { quote, segment } from '../api';
import { filled, flag, update } from './shell';

const path = (id: string) => `/workers/${segment(id)}`;
const why = { name: 'reason', label: 'Why', hint: "Kept in the worker's history and in the audit log." };

// operate is a request about a worker with an optional reason.
const operate = (id: string, action: string, verb: string, act: Pick<Act, 'label' | 'title' | 'effect' | 'danger'>): Act => ({
  ...act,
  fields: [why],
  request: ({ reason }) => ({ method: 'POST', path: `${path(id)}/${action}`, body: filled({ reason }) }),
  roundsman: ({ reason }) => `roundsman ${verb} ${quote(id)}${flag('reason', reason)}`,
  temporal: ({ reason }) => update('fleet', 'operate-worker', { id, action, reason }),
});

export const drain = (id: string) =>
  operate(id, 'drain', 'drain', { label: 'Drain', title: `Drain ${id}?`, effect: 'It takes no new work; what runs may finish. Then its process can end.' });

export const cordon = (id: string) =>
  operate(id, 'cordon', 'pause', { label: 'Cordon', title: `Cordon ${id}?`, effect: 'It takes no new work until somebody uncordons it; what runs may finish.' });

export const uncordon = (id: string): Act => ({
  ...operate(id, 'uncordon', 'resume', { label: 'Uncordon', title: `Uncordon ${id}?`, effect: 'It takes work again at once.' }),
  fields: [],
});

export const removeWorker = (id: string) =>
  operate(id, 'remove', 'delete', {
    label: 'Remove',
    title: `Remove ${id} from the registry?`,
    effect: 'A living worker registers again. Jobs that still run there are placed elsewhere.',
    danger: true,
  });

interface Caps {
  max_execute: number;
  max_detect: number;
}

export const resizeWorker = (id: string, caps: Caps): Act => ({
  label: 'Resize',
  title: `Change how much ${id} runs at once?`,
  effect: 'It holds at once and over restarts. What runs above a smaller cap continues.',
  fields: [
    { name: 'execute', label: 'Jobs at once', kind: 'number', value: String(caps.max_execute), required: true },
    { name: 'detect', label: 'Detections at once', kind: 'number', value: String(caps.max_detect), required: true },
    why,
  ],
  request: (v) => ({ method: 'POST', path: `${path(id)}/resize`, body: filled({ max_execute: Number(v.execute), max_detect: Number(v.detect), reason: v.reason }) }),
  roundsman: (v) => `roundsman set ${quote(id)} max_execute=${v.execute} max_detect=${v.detect}${flag('reason', v.reason)}`,
  temporal: (v) => update('fleet', 'resize-worker', { id, max_execute: Number(v.execute), max_detect: Number(v.detect), reason: v.reason }),
});

export const cleanUp = (): Act => ({
  label: 'Clean up',
  title: 'Remove workers that are gone?',
  effect: 'Workers that have been OFFLINE for long leave the registry. One that comes back registers again.',
  fields: [{ name: 'all', label: 'Every worker that is OFFLINE, however short', kind: 'checkbox' }],
  request: ({ all }) => ({ method: 'POST', path: '/workers/cleanup', body: filled({ all_offline: all === 'true' }) }),
  roundsman: ({ all }) => `roundsman workers cleanup${all === 'true' ? ' --all-offline' : ''}`,
  temporal: ({ all }) => update('fleet', 'cleanup-workers', { all_offline: all === 'true' }),
});
