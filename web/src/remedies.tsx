// Buttons of a state. The API lists its actions.
import { Action, Line } from './action';
import { actOf } from './acts/remedy';
import { segment } from './api';
import { Prose } from './names';
import { href, runHref } from './route';
import { itemHref } from './runs';
import type { Remedy } from './types';

interface Remedied {
  of: Remedy[] | null | undefined;
  actor?: string | undefined;
  text?: string | undefined;
  hint?: string | undefined;
  beside?: string[] | undefined;
}

// Remedies has the buttons first; the commands are folded, unless there is no button. text is the remedy in words, hint
// its part beside the buttons. Without a button, actor is who can change the state. beside has the labels of buttons that
// the header of the page has.
export function Remedies({ of, actor, text = '', hint, beside = [] }: Remedied) {
  const actions = of ?? [];
  if (actions.length === 0 && !actor && !text) return null;
  const buttons = actions.filter(isButton);
  const lines = actions.filter((action) => !isButton(action));
  const words = (said: string | undefined) =>
    said && (
      <p class="remedy sentence">
        <Prose text={said} />
      </p>
    );
  const typed = (shown: Remedy[]) => shown.map((action) => <Line key={action.command} text={action.command} />);
  if (buttons.length === 0) {
    return (
      <>
        {words(text)}
        <div class="remedies">
          {typed(lines)}
          {actor && <p class="actor">Who can end it: {actor}.</p>}
        </div>
      </>
    );
  }
  return (
    <>
      <div class="remedies">
        {buttons.filter(({ label }) => !beside.includes(label)).map((action) => (
          <Button key={action.command} action={action} />
        ))}
        {actor && <p class="actor">Who can end it: {actor}.</p>}
      </div>
      {words(hint)}
      {(text || lines.length > 0) && (
        <details class="lines">
          <summary>In a terminal</summary>
          {typed(actions)}
        </details>
      )}
    </>
  );
}

const isLink = (action: Remedy) => action.request?.method === 'GET' || action.operation === 'apply-configuration';
const isButton = (action: Remedy) => (isLink(action) && pageOf(action) !== undefined) || (action.request && action.request.method !== 'GET');

// Button sends the request, or is a link to a page.
function Button({ action }: { action: Remedy }) {
  const page = isLink(action) ? pageOf(action) : undefined;
  if (page === undefined) return <Action {...actOf(action)} small />;
  return (
    <a class="button small" href={page} title={action.command}>
      {action.label}
    </a>
  );
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
