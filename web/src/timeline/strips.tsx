// The last runs of job types and DAGs, one list for all job types of a table.
import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { query } from '../api';
import { useGet } from '../data';
import type { Role } from '../design/state';
import { Strip } from '../design/strip';
import './strip.css';
import { runHref } from '../route';
import type { RunStrips } from '../types';
import { textOf, tookOf } from './past';

// atOnce is the number of job types in one request. Names in fixed groups give many viewers the same picture.
const atOnce = 50;

// Strips has the names of the job types of the rows below it.
export const Strips = createContext<string[]>([]);

// LastRuns are the last 30 runs of a job type, or of a DAG. The link leads to the run under the pointer, or to the one
// chosen with the arrow keys: one element for all bars, since a list has hundreds of them.
export function LastRuns({ name, dag }: { name: string; dag?: boolean }) {
  const names = useContext(Strips);
  const from = Math.floor(names.indexOf(name) / atOnce) * atOnce;
  const found = useGet<RunStrips>(`/run-strips${query(dag ? { dag: name } : { job_type: names.slice(from, from + atOnce).join(',') })}`);
  const [at, setAt] = useState<number>();
  if (!found.data) return <span class="faint">{found.error ? '–' : '…'}</span>;
  const { strips, dags } = found.data;
  const runs = (dag ? dags[0] : strips.find((strip) => strip.job_type === name))?.runs ?? [];
  const chosen = at === undefined ? runs.at(-1) : runs[at];
  if (!chosen) return <span class="faint">none yet</span>;
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -runs.length, End: runs.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    setAt(Math.min(Math.max((at ?? runs.length - 1) + step, 0), runs.length - 1));
  };
  const pointed = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const box = event.currentTarget.getBoundingClientRect();
    setAt(Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * runs.length), 0), runs.length - 1));
  };
  return (
    <a
      class="strip-link"
      href={runHref(chosen.workflow_id)}
      title={textOf(chosen)}
      aria-label={`Last runs of ${name}, run ${(at ?? runs.length - 1) + 1} of ${runs.length}: ${textOf(chosen)}`}
      onKeyDown={keys}
      onPointerMove={pointed}
      onPointerLeave={() => setAt(undefined)}
      onBlur={() => setAt(undefined)}
    >
      <Strip runs={runs.map((run) => ({ word: run.state, role: run.role as Role, took: tookOf(run) }))} at={at} />
    </a>
  );
}
