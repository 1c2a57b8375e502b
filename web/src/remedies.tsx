// Buttons of a state. The API lists its actions.
import { Action, Line } from './action';
import { actOf } from './acts/remedy';
import { segment } from './api';
import { href, runHref } from './route';
import { itemHref } from './runs';
import type { Remedy } from './types';

// Without a button, actor is who can change the state.
export function Remedies({ of, actor }: { of: Remedy[] | null | undefined; actor?: string | undefined }) {
  const actions = of ?? [];
  if (actions.length === 0 && !actor) return null;
  return (
    <div class="remedies">
      {actions.map((action) => (
        <One key={action.command} action={action} />
      ))}
      {actor && <p class="actor">Who can end it: {actor}.</p>}
    </div>
  );
}

// One is a button that sends the request, a link to a page, or a line for a shell.
function One({ action }: { action: Remedy }) {
  const page = action.request?.method === 'GET' || action.operation === 'apply-configuration' ? pageOf(action) : undefined;
  if (page !== undefined) {
    return (
      <a class="button small" href={page} title={action.command}>
        {action.label}
      </a>
    );
  }
  if (!action.request || action.request.method === 'GET') return <Line text={action.command} />;
  return <Action {...actOf(action)} small />;
}

// pages of operations that read. A missing argument gives no page.
const pages: Record<string, (args: Record<string, string>) => string | undefined> = {
  'apply-configuration': () => href('plan'),
  explain: ({ thing = '', run, item }) => (run ? ofRun(run, item) : thing ? href('job-types', thing) : undefined),
  'get-doctor': () => href('doctor'),
  'get-item': ({ run, item }) => run && item && itemHref(run, item),
  'get-run': ({ run }) => run && runHref(run),
  'get-worker': ({ id }) => id && href('workers', id),
  'list-items': ({ run }) => run && runHref(run),
  'list-job-types': () => href('job-types'),
  'list-runs': () => href('runs'),
  'list-held': () => href('job-types'),
  'list-needs': () => href(''),
  'list-audit': ({ object = '' }) => `${href('audit')}?object=${segment(object)}`,
  'list-workers': () => href('workers'),
};

const ofRun = (run: string, item: string | undefined) => (item ? itemHref(run, item) : runHref(run));

const pageOf = (action: Remedy) => pages[action.operation]?.(action.arguments ?? {});
