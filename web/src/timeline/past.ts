// A run of a chart: how long it took, and its name for readers and tips.
import { viewed } from '../clock';
import { spoken } from '../design/state';
import { exact, span } from '../time';
import type { PastRun } from '../types';

export const tookOf = (run: PastRun) => (run.ended_at ? Date.parse(run.ended_at) - Date.parse(run.started_at) : viewed() - Date.parse(run.started_at));

export function textOf(run: PastRun): string {
  const jobs = run.jobs ? `, ${run.jobs.failed > 0 ? `${run.jobs.failed.toLocaleString('en')} of ` : ''}${run.jobs.total.toLocaleString('en')} ${run.jobs.failed > 0 ? 'jobs failed' : 'jobs'}` : '';
  return `${spoken(run.state)}, ${run.ended_at ? `took ${span(tookOf(run))}` : `for ${span(tookOf(run))}`}, ${exact(run.started_at)}${jobs}`;
}
