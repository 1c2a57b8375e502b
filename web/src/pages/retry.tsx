// The effect of a retry: the items executed again, those taken over with their run, and those left out with the
// reason.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { Values } from '../action';
import { send } from '../api';
import { RunName } from '../names';
import { runPath } from '../runs';
import type { RetryPreview } from '../types';
import { Failure } from '../ui';
import { plural } from '../words';
import './retry.css';

// most is the number of rows that a list shows. A list of more than searched rows has a search.
const most = 100;
const searched = 10;

// noneFailed reports whether all that could be executed again was not executed. A failed job that is left out is no reason to
// execute others.
const noneFailed = ({ again_total, kept, kept_total, missed }: NonNullable<RetryPreview['jobs']>) =>
  missed > 0 && again_total === 0 && (kept_total === (kept ?? []).length || kept_total <= missed) && (kept ?? []).every(({ why }) => why === 'not_chosen');

export function Preview({ id, body, values, set }: { id: string; body: Record<string, unknown>; values: Values; set: (values: Values) => void }) {
  const [found, setFound] = useState<RetryPreview>();
  const [error, setError] = useState<unknown>();
  const text = JSON.stringify(body);
  useEffect(() => {
    const ended = new AbortController();
    setError(undefined);
    const take = (preview: RetryPreview) => {
      setFound(preview);
      // The list of runs has no counts. If no job failed, the missed jobs are preselected.
      if (body.failed && values.missed === undefined && preview.jobs && noneFailed(preview.jobs)) set({ ...values, missed: 'true' });
    };
    send<RetryPreview>({ method: 'POST', path: `${runPath(id)}/retry-preview`, body }, ended.signal).then(take, (cause) => ended.signal.aborted || setError(cause));
    return () => ended.abort();
  }, [id, text]);
  const failure = error !== undefined && <Failure error={error} what="What it would do is not known" />;
  if (found?.jobs) return <Jobs plan={found.jobs} failure={failure} chosen={'items' in body} missed={body.missed === true} setMissed={(missed) => set({ ...values, missed: String(missed) })} />;
  if (failure) return failure;
  if (!found) return <>What failed runs again. What succeeded does not.</>;
  const [again, kept] = [found.executed ?? [], found.taken_over ?? []];
  const from = new Map<string, string[]>();
  for (const { task, from_run } of kept) from.set(from_run || found.resumes, [...(from.get(from_run || found.resumes) ?? []), task]);
  const rows = (names: string[]) => names.map((name) => ({ name }));
  return (
    <span class="preview">
      {found.within
        ? `The run itself executes ${plural(again.length, 'task')}: the failed ones, and those that they keep from running.`
        : `A new run executes ${plural(again.length, 'task')} and takes over ${plural(kept.length, 'result')}.`}
      <Names title="Executed again" of={rows(again)} />
      {[...from].map(([run, tasks]) => (
        <Names
          key={run}
          title={
            <>
              Taken over from <RunName id={run} />
            </>
          }
          of={rows(tasks)}
        />
      ))}
      <Names title="Added on the way, and left out" of={rows(found.dropped ?? [])} />
    </span>
  );
}

// Jobs is the effect for a run of a job type: each job with its former error, or with the reason that it is left out. After
// a failed preview only the choice of missed jobs remains. Changing it requests the preview again.
function Jobs({ plan, failure, chosen, missed, setMissed }: { plan: NonNullable<RetryPreview['jobs']>; failure: ComponentChildren; chosen: boolean; missed: boolean; setMissed: (missed: boolean) => void }) {
  const nameOf = ({ dedupe_key, job, summary }: { dedupe_key?: string; job?: string; summary?: string }) => dedupe_key || summary || job || '';
  return (
    <span class="preview">
      {failure || `A new run of ${plan.job_type} executes ${plural(plan.again_total, 'job')}. `}
      {!failure && plan.done > 0 && `${plural(plan.done, 'job')} done before ${plan.done === 1 ? 'does' : 'do'} not run again.`}
      {!chosen && plan.missed > 0 && (
        <label>
          <input type="checkbox" checked={missed} onChange={(event) => setMissed(event.currentTarget.checked)} /> also the {plan.missed.toLocaleString('en')} that {plan.missed === 1 ? 'was' : 'were'} not executed
        </label>
      )}
      {!failure && (
        <>
          <Names title="Executed again" of={(plan.again ?? []).map((one) => ({ name: nameOf(one), why: one.error || one.state }))} total={plan.again_total} />
          <Names title="Left out" of={(plan.kept ?? []).map((one) => ({ name: nameOf(one), why: one.detail }))} total={plan.kept_total} />
          {plan.unchecked && <Names title="Not checked" of={[{ name: plan.unchecked }]} />}
        </>
      )}
    </span>
  );
}

// Names is a list with a search above ten rows.
function Names({ title, of, total = of.length }: { title: ComponentChildren; of: { name: string; why?: string }[]; total?: number }) {
  const id = useId();
  const [text, setText] = useState('');
  if (of.length === 0) return null;
  const wanted = text.trim().toLowerCase();
  const found = wanted === '' ? of : of.filter(({ name, why }) => name.toLowerCase().includes(wanted) || why?.toLowerCase().includes(wanted));
  return (
    <>
      <h3 id={id}>
        {title}: {total.toLocaleString('en')}
      </h3>
      {of.length > searched && <input type="search" aria-label="Find in the list" placeholder="Find in the list" value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()} />}
      <ul tabIndex={0} aria-labelledby={id}>
        {found.slice(0, most).map(({ name, why }, i) => (
          <li key={`${name} ${i}`}>
            <span>{name}</span>
            {why && <small>{why}</small>}
          </li>
        ))}
        {found.length === 0 && (
          <li>
            None of {of.length.toLocaleString('en')} has {text} in it.
          </li>
        )}
        {found.length > most && <li>and {(found.length - most).toLocaleString('en')} more</li>}
        {total > of.length && <li>The list has the first {of.length.toLocaleString('en')}.</li>}
      </ul>
    </>
  );
}
