// The effect of a retry: the items executed again, those taken over with their run, and those left out with the
// reason.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { send } from '../api';
import { runHref } from '../route';
import { runPath } from '../runs';
import type { RetryPreview } from '../types';
import { Failure } from '../ui';
import { plural } from '../words';

const most = 50;

export function Preview({ id }: { id: string }) {
  const [found, setFound] = useState<RetryPreview>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const ended = new AbortController();
    send<RetryPreview>({ method: 'POST', path: `${runPath(id)}/retry-preview` }, ended.signal).then(setFound, (cause) => ended.signal.aborted || setError(cause));
    return () => ended.abort();
  }, [id]);
  if (error) return <Failure error={error} what="What it would do is not known" />;
  if (!found) return <>What failed runs again. What succeeded does not.</>;
  if (found.jobs) return <Jobs plan={found.jobs} />;
  const [again, kept] = [found.executed ?? [], found.taken_over ?? []];
  const from = new Map<string, string[]>();
  for (const { task, from_run } of kept) from.set(from_run || found.resumes, [...(from.get(from_run || found.resumes) ?? []), task]);
  return (
    <>
      A new run executes {plural(again.length, 'task')} and takes over {plural(kept.length, 'result')}.
      <Names title="Executed again" of={again} />
      {[...from].map(([run, tasks]) => (
        <Names
          key={run}
          title={
            <>
              Taken over from <a href={runHref(run)}>{run}</a>
            </>
          }
          of={tasks}
        />
      ))}
      {(found.dropped ?? []).length > 0 && <Names title="Added on the way, and left out" of={found.dropped ?? []} />}
    </>
  );
}

// Jobs is the effect for a run of a job type: each job with its former error, or with the reason why it is left
// out.
function Jobs({ plan }: { plan: NonNullable<RetryPreview['jobs']> }) {
  const nameOf = ({ dedupe_key, job, summary }: { dedupe_key?: string; job?: string; summary?: string }) => dedupe_key || summary || job || '';
  return (
    <>
      A new run of {plan.job_type} executes {plural(plan.again_total, 'job')}. {plan.done > 0 && `${plural(plan.done, 'job')} done before ${plan.done === 1 ? 'does' : 'do'} not run again.`}
      <Names title="Executed again" of={(plan.again ?? []).map((one) => `${nameOf(one)} (${one.error || one.state})`)} total={plan.again_total} />
      <Names title="Left out" of={(plan.kept ?? []).map((one) => `${nameOf(one)}: ${one.detail}`)} total={plan.kept_total} />
      {plan.unchecked && <Names title="Not checked" of={[plan.unchecked]} />}
    </>
  );
}

function Names({ title, of, total = of.length }: { title: ComponentChildren; of: string[]; total?: number }) {
  if (of.length === 0) return null;
  return (
    <span class="names">
      <strong>{title}:</strong> {of.slice(0, most).join(', ')}
      {total > most && ` and ${(total - most).toLocaleString('en')} more`}
    </span>
  );
}
