// The failures of a run, grouped by their error: how many share a cause, where, since when, and which they are.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Remedies } from '../remedies';
import { href } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import { Time } from '../time';
import type { Cause, RunFailures, Snapshot } from '../types';
import { Loaded } from '../ui';
import { plural } from '../words';
import { useSettled } from './settled';

export function Causes({ run, children }: { run: Snapshot; children?: ComponentChildren }) {
  const failed = run.progress?.failed ?? 0;
  const found = useSettled<RunFailures>(`${runPath(run.workflow_id)}/failures`, isOpen(run));
  const word = run.kind === 'dag' ? 'task' : 'job';
  const causes = found.data?.causes ?? [];
  const more = found.data?.more ?? 0;
  return (
    <section class="alarm">
      <h2>
        {plural(failed, word)} failed{found.data && causes.length > 0 && `, ${plural(causes.length + more, 'cause')}`}
        {children}
      </h2>
      <Loaded of={found} what="What failed">
        {({ causes: all, uncounted }) => (
          <>
            <ul class="causes">
              {all.map((cause) => (
                <One key={`${cause.example.job_id} ${cause.message}`} cause={cause} run={run} />
              ))}
            </ul>
            {(more > 0 || (uncounted ?? 0) > 0) && (
              <p class="graph-note">
                {more > 0 && `${plural(more, 'more cause')}. `}
                {(uncounted ?? 0) > 0 && `${plural(uncounted ?? 0, word)} not read.`}
              </p>
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

function One({ cause, run }: { cause: Cause; run: Snapshot }) {
  const [shown, show] = useState(false);
  const [first] = cause.items;
  const more = cause.workers_total - cause.workers.length;
  return (
    <li>
      <span class="n">{cause.count.toLocaleString('en')}</span>
      <span class="message">
        {cause.count === 1 && first && (
          <>
            <a href={itemHref(run.workflow_id, first.id)}>{first.dedupe_key || first.id}</a>:{' '}
          </>
        )}
        {cause.message || 'no message'}
        <small>
          {cause.workers.map((worker, i) => (
            <span key={worker}>
              {i > 0 && ', '}
              <a href={href('workers', worker)}>{worker}</a>
            </span>
          ))}
          {more > 0 && ` and ${plural(more, 'more worker')}`}
          {cause.workers.length > 0 && cause.last && ' · '}
          {cause.last && (
            <>
              last <Time at={cause.last} />
            </>
          )}
          {cause.count > 1 && cause.first && (
            <>
              , first <Time at={cause.first} />
            </>
          )}
        </small>
      </span>
      {cause.count === 1 && first ? (
        <a class="button small" href={itemHref(run.workflow_id, first.id)}>
          Show
        </a>
      ) : (
        <button type="button" class="small" aria-expanded={shown} onClick={() => show(!shown)}>
          {shown ? 'Hide' : `Show ${cause.count.toLocaleString('en')}`}
        </button>
      )}
      {(cause.actions || cause.hint) && (
        <div class="help">
          <Remedies of={cause.actions} text={cause.remedy} hint={cause.hint} />
        </div>
      )}
      {shown && (
        <span class="of">
          {cause.items.map((item) => (
            <a key={item.id} href={itemHref(run.workflow_id, item.id)}>
              {item.dedupe_key || item.id}
            </a>
          ))}
          {cause.count > cause.items.length && <span>and {(cause.count - cause.items.length).toLocaleString('en')} more</span>}
        </span>
      )}
    </li>
  );
}
