// Actions on pools and holds.
import type { Act } from '../action';
import { quote, segment } from '../api';
import { update } from './shell';

export const resizePool = (pool: string, size: number, declared = 0): Act => ({
  label: 'Resize',
  title: `Give pool ${pool} another size?`,
  effect: `It holds at once, until it is resized again. 0 goes back to what the configuration declares${declared ? `: ${declared}` : ''}.`,
  fields: [{ name: 'size', label: 'Size', kind: 'number', value: String(size), required: true }],
  request: ({ size }) => ({ method: 'PUT', path: `/pools/${segment(pool)}/size`, body: { size: Number(size) } }),
  roundsman: ({ size }) => `roundsman set ${quote(`pool/${pool}`)} size=${Number(size) || ''}`,
  temporal: ({ size }) => update('admission', 'resize-pool', { pool, size: Number(size) }),
});

export const reEnable = (name: string, key: string): Act => ({
  label: 'Re-enable',
  title: `Re-enable ${key === '' ? name : `key ${key} of ${name}`}?`,
  effect: 'Its failures count from zero; the next run takes it again.',
  request: () => ({ method: 'POST', path: `/job-types/${segment(name)}/re-enable`, body: key === '' ? {} : { dedupe_key: key } }),
  roundsman: () => `roundsman resume ${quote(key === '' ? name : `${name}:${key}`)} --kind budget`,
  temporal: () => update('admission', 're-enable', { job_type: name, key }),
});

export const forgive = (name: string, key: string): Act => ({
  label: 'Forgive',
  title: `Forgive ${key}?`,
  effect: 'Everything that is held against the key is forgotten; the next run takes it again.',
  request: () => ({ method: 'POST', path: `/job-types/${segment(name)}/keys/forgive`, body: { dedupe_key: key } }),
  roundsman: () => `roundsman resume ${quote(`${name}:${key}`)}`,
  temporal: () => update('admission', 'forgive', { job_type: name, key }),
});
