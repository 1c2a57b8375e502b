// Actions on API keys.
import type { Act } from '../action';
import { quote, segment } from '../api';
import { clock } from '../clock';
import type { Key } from '../types';
import { filled, flag } from './shell';

const none = () => ({ none: 'keys are kept in a Schedule that only Roundsman writes' });
const list = (text: string | undefined) =>
  (text ?? '')
    .split(/[\s,]+/)
    .filter((one) => one !== '');
const globs = (values: Record<string, string>, name: string) => {
  const found = list(values[name]);
  return found.length > 0 ? found : undefined;
};
const until = (days: string | undefined) => (days ? new Date(clock() + Number(days) * 86_400_000).toISOString().replace(/\.\d+/, '') : undefined);

export const createKey = (roles: string[]): Act => ({
  label: 'Create a key',
  title: 'Create an API key?',
  effect: 'Its secret is shown once. Only a sum of it is kept.',
  fields: [
    { name: 'name', label: 'Name', required: true, hint: 'What it is for. It is the actor in the audit log.' },
    { name: 'role', label: 'Role', value: 'viewer', choices: roles.length > 0 ? roles : ['viewer'], hint: 'What each role may do stands on this page.' },
    { name: 'job_types', label: 'Only job types', hint: 'Patterns like scrub*, separated by commas. Empty: all.' },
    { name: 'dags', label: 'Only DAGs', hint: 'Patterns. Empty: all.' },
    { name: 'handlers', label: 'Only handlers', hint: 'Patterns of what it may have executed. Empty: all.' },
    { name: 'worker', label: 'Only worker', hint: 'The one worker that it may act for.' },
    { name: 'days', label: 'Expires after days', kind: 'number', hint: 'Empty: never.' },
  ],
  request: (values) => ({
    method: 'POST',
    path: '/keys',
    body: filled({
      name: values.name,
      role: values.role,
      job_types: globs(values, 'job_types'),
      dags: globs(values, 'dags'),
      handlers: globs(values, 'handlers'),
      worker: values.worker,
      expires_at: until(values.days),
    }),
  }),
  roundsman: ({ name = '', role, job_types, dags, handlers, worker, days }) =>
    `roundsman keys create ${quote(name || 'NAME')}${flag('role', role)}${flag('job-types', list(job_types).join(','))}${flag('dags', list(dags).join(','))}${flag('handlers', list(handlers).join(','))}${flag('worker', worker)}${flag('expires', days && `${days}d`)}`,
  temporal: none,
});

// life is the time to live of a key, which its successor has, too.
const life = ({ created_at, expires_at }: Key) => {
  if (!expires_at) return undefined;
  const minutes = Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 60_000);
  return minutes % 1440 ? `${minutes}m` : `${minutes / 1440}d`;
};

export const rotateKey = (key: Key): Act => ({
  label: 'Rotate',
  title: `Rotate the key of ${key.name}?`,
  effect: 'A new key with the same rights is made and shown once. The old one is refused within 5 seconds.',
  request: () => ({ method: 'POST', path: `/keys/${segment(key.id)}/rotate` }),
  roundsman: () =>
    `roundsman keys create ${quote(key.name)}${flag('role', key.role)}${flag('job-types', (key.job_types ?? []).join(','))}${flag('dags', (key.dags ?? []).join(','))}${flag('handlers', (key.handlers ?? []).join(','))}${flag('worker', key.worker)}${flag('expires', life(key))} && roundsman delete apikey/${key.id} --yes`,
  temporal: none,
});

export const revokeKey = (key: Key): Act => ({
  label: 'Revoke',
  title: `Revoke the key of ${key.name}?`,
  effect: 'Whoever uses it is refused within 5 seconds. It cannot be made valid again.',
  danger: true,
  request: () => ({ method: 'POST', path: `/keys/${segment(key.id)}/revoke` }),
  roundsman: () => `roundsman delete apikey/${key.id} --yes`,
  temporal: none,
});

export const endSessions = (name: string): Act => ({
  label: 'End sessions',
  title: `End the sessions of a person?`,
  effect: 'They must log in again, with the groups that they have then.',
  fields: [{ name: 'name', label: 'Person', required: true, value: name, hint: 'As the audit log names them.' }],
  request: (values) => ({ method: 'POST', path: '/sessions/end', body: { name: values.name } }),
  roundsman: (values) => `roundsman keys end-sessions ${quote(values.name || 'NAME')}`,
  temporal: none,
});
