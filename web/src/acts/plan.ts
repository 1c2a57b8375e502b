// Actions on a configuration.
import type { Act } from '../action';
import { query, type Request } from '../api';
import { plural } from '../words';

const none = () => ({ none: 'the control plane makes the Schedules of a configuration, and dry runs with its settings' });

// Written is a configuration with the files that it names.
export interface Written {
  document: string;
  files: Record<string, string>;
}

// detectPlanned starts dry runs with the new settings.
export const detectPlanned = (written: Written, names: string[]): Act => ({
  label: 'Dry detection',
  title: `What would ${names.length === 1 ? names[0] : `${names.length} job types`} find?`,
  effect: 'Each created or changed job type detects once with its new settings. Nothing is executed, and nothing is applied.',
  request: () => ({ method: 'POST', path: '/plan/detect', body: written }),
  roundsman: () => names.map((name) => `roundsman start ${name} --dry-run --config roundsman.yaml`).join('; '),
  temporal: none,
});

export function apply(written: Written, hash: string, changes: { action: string }[]): Act {
  const deletions = changes.filter((change) => change.action === 'delete').length;
  const pruned = (values: Record<string, string>) => values.prune === 'true';
  const request = (values: Record<string, string>): Request => ({
    method: 'POST',
    path: `/apply${query({ prune: pruned(values) })}`,
    body: written,
    headers: { 'If-Match': `"${hash}"` },
  });
  return {
    label: `Apply ${plural(changes.length, 'change')}`,
    title: `Apply ${plural(changes.length, 'change')}?`,
    effect: 'Exactly this plan: if something has changed meanwhile it is refused, and you plan again.',
    fields: deletions > 0 ? [{ name: 'prune', label: `Delete ${plural(deletions, 'job type')}`, kind: 'checkbox' }] : [],
    request,
    roundsman: (values) => `roundsman apply --config roundsman.yaml${pruned(values) ? ' --prune' : ''}`,
    temporal: none,
  };
}
