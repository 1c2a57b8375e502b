// What takes back that of which the audit log tells, or why nothing does.
import type { Act, None } from '../action';
import type { AuditEntry } from '../types';
import { forgive, poolBack } from './admission';
import { pauseJobType, restoreJobType, resumeJobType, setJobType } from './jobtypes';
import { pauseRun, resumeRun } from './runs';
import { capsBack, cordon, drain, ownSize, uncordon } from './workers';

type Back = Act | None;

const named = (entry: AuditEntry, pattern: RegExp) => entry.object.match(pattern)?.[1] ?? '';

// sizes are the caps of a worker before; undefined: those that it was started with.
function caps(entry: AuditEntry): Back {
  const id = named(entry, /^worker\/([^/]+)$/);
  const found = entry.before.match(/^detect: (\d+); execute: (\d+)( \(resized\))?$/);
  if (!found) return { none: 'its former size is not known' };
  return found[3] ? capsBack(id, { max_detect: Number(found[1]), max_execute: Number(found[2]) }) : ownSize(id);
}

function poolSize(entry: AuditEntry): Back {
  const found = entry.before.match(/^size: (\d+)( \(resized\))?$/);
  if (!found) return { none: 'its former size is not known' };
  return poolBack(named(entry, /^pool\/(.+)$/), found[2] ? Number(found[1]) : 0);
}

// mode is what an operator had set before a worker was uncordoned.
function mode(entry: AuditEntry): Back {
  const id = named(entry, /^worker\/([^/]+)$/);
  if (entry.before === 'CORDONED') return cordon(id);
  if (entry.before === 'DRAINING') return drain(id);
  return { none: 'nothing held it back before' };
}

// settings gives a job type what its settings were: those that changed, if all of them can
// be set by themselves, which operators may; else all that the log has.
function settings(entry: AuditEntry): Back {
  const former = settingsOf(entry.before, entry.after);
  return former ? setJobType(entry.job_type, former) : allSettings(entry);
}

const allSettings = (entry: AuditEntry): Back =>
  entry.restorable ? restoreJobType(entry.job_type, entry.seq) : { none: 'not kept: apply the former file' };

// settingsOf reads "policy.retry_limit: 2; schedule: every 8h".
export function settingsOf(before: string, after: string): Record<string, unknown> | undefined {
  if (before === '' || before.includes('…')) return undefined;
  const found: Record<string, unknown> = {};
  for (const side of before.split('; ')) {
    const policy = side.match(/^policy\.(\w+): (\S+)$/);
    const every = side.match(/^schedule: every (\w+)( |$)/);
    if (policy?.[1] && policy[2] && policy[2] !== '(none)') found[policy[1]] = valueOf(policy[2]);
    else if (every?.[1] && /(^|; )schedule: every /.test(after) && !/ or | except /.test(side)) found.every = every[1];
    else return undefined;
  }
  return found;
}

const valueOf = (text: string) => (/^-?\d+$/.test(text) ? Number(text) : text === 'true' ? true : text === 'false' ? false : text);

const no = (none: string) => () => ({ none });
const ended = no('what ended has ended');
const begun = no('cancel the run instead');
const paused = { resume: (entry: AuditEntry) => resumeRun(entry.object), pause: (entry: AuditEntry) => pauseRun(entry.object) };
const uncordoned = (entry: AuditEntry) => uncordon(named(entry, /^worker\/([^/]+)$/));

// backs has of each action what it is about, which a later one may have changed again,
// and what takes it back.
const backs: Record<string, [string, (entry: AuditEntry) => Back]> = {
  'jobtype.pause': ['pause', (entry) => resumeJobType(entry.job_type)],
  'jobtype.resume': ['pause', (entry) => pauseJobType(entry.job_type)],
  'jobtype.set': ['settings', settings],
  'apply.update': ['settings', settings],
  'apply.drift': ['settings', settings],
  'apply.restore': ['settings', settings],
  'apply.create': ['settings', no('prune it with apply')],
  'apply.delete': ['settings', allSettings],
  'worker.cordon': ['mode', uncordoned],
  'worker.drain': ['mode', uncordoned],
  'worker.uncordon': ['mode', mode],
  'worker.resize': ['size', caps],
  'worker.remove': ['', no('it registers when it lives')],
  'worker.cleanup': ['', no('they register when they live')],
  'worker.take-over': ['', no('the other process has ended')],
  'pool.resize': ['size', poolSize],
  'hold.mark-done': ['hold', (entry) => forgive(entry.job_type, named(entry, /^jobtype\/[^/]+\/key (.+)$/))],
  'hold.forgive': ['hold', no('what was held is forgotten')],
  'hold.re-enable': ['hold', no('its failures are forgotten')],
  'run.pause': ['pause', paused.resume],
  'run.resume': ['pause', paused.pause],
  'dag.pause': ['pause', paused.resume],
  'dag.resume': ['pause', paused.pause],
  'jobtype.run': ['', begun],
  'jobtype.backfill': ['', begun],
  'jobs.submit': ['', begun],
  'dag.run': ['', begun],
  'dag.retry': ['', begun],
  'run.cancel': ['', ended],
  'run.terminate': ['', ended],
  'job.cancel': ['', ended],
  'job.expire': ['', ended],
  'dag.cancel': ['', ended],
  'dag.cancel-task': ['', no('retry the task instead')],
  'dag.skip': ['', no('retry the task instead')],
  'policy.set': ['', no('set it again for the run')],
  'calendar.set': ['', no('apply the former windows')],
};

// putBack takes back what an entry of an operator tells, unless that was changed again
// since. newestFirst are all entries from some one on.
export function putBack(entry: AuditEntry, newestFirst: AuditEntry[]): Back {
  const [about, back] = backs[entry.action] ?? ['', no('what follows has begun')];
  if (about === '') return back(entry);
  const oldest = newestFirst.at(-1);
  if (!oldest || entry.seq < oldest.seq) return { none: 'look without filters' };
  const last = newestFirst.find((other) => other.object === entry.object && backs[other.action]?.[0] === about);
  return last?.seq === entry.seq ? back(entry) : { none: 'changed again since' };
}
