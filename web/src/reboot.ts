// May this node be rebooted? The answer follows from what runs there, how long such
// jobs take, and what no other worker can do.
import { duration, span } from './time';
import type { JobType, ListedWorker, Worker } from './types';

export interface Verdict {
  word: 'yes' | 'drain first' | 'work would wait';
  runs: { job: string; run: string; jobType: string; since: string; left?: string }[];
  // alone are the job types that only this worker can serve now.
  alone: { name: string; next?: string | undefined }[];
  // within is how long a drain is likely to take, in milliseconds; undefined: unknown.
  within?: number;
}

const serves = (worker: Pick<ListedWorker, 'registration'>, type: JobType) =>
  (worker.registration.job_types ?? []).length === 0 || worker.registration.job_types?.includes(type.name)
    ? worker.registration.capabilities?.some((c) => c.handler === type.spec.handler && c.execute)
    : false;

export function mayReboot(
  worker: Worker,
  fleet: ListedWorker[],
  types: JobType[],
  learned: Map<string, string | undefined>,
  now: number,
): Verdict {
  const others = fleet.filter((other) => other.registration.id !== worker.registration.id && other.state === 'ONLINE');
  const alone = types
    .filter((type) => !type.paused && serves(worker, type) && !others.some((other) => serves(other, type)))
    .map((type) => ({ name: type.name, next: type.next?.[0] }));
  let within: number | undefined = 0;
  const runs = (worker.report?.jobs ?? []).map((job) => {
    const whole = duration(learned.get(job.job_type));
    const left = whole > 0 ? Math.max(whole - (now - Date.parse(job.started_at)), 0) : undefined;
    within = left === undefined || within === undefined ? undefined : Math.max(within, left);
    return {
      job: job.job_id,
      run: job.group_id,
      jobType: job.job_type,
      since: job.started_at,
      ...(left === undefined ? {} : { left: span(left) }),
    };
  });
  const word = alone.length > 0 ? 'work would wait' : runs.length > 0 ? 'drain first' : 'yes';
  return { word, runs, alone, ...(within === undefined ? {} : { within }) };
}
