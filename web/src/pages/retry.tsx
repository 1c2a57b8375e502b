// What a retry of a run of a DAG would do: what it takes over, and from which run, and
// what it executes again.
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
  if (!found) return <>What failed runs again, and what that blocked. What succeeded is taken over with its results.</>;
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

function Names({ title, of }: { title: preact.ComponentChildren; of: string[] }) {
  if (of.length === 0) return null;
  return (
    <span class="names">
      <strong>{title}:</strong> {of.slice(0, most).join(', ')}
      {of.length > most && ` and ${plural(of.length - most, 'more task')}`}
    </span>
  );
}
