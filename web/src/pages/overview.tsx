// The overview is a work list: states that need a person, waits, failures since yesterday, and runs of the coming
// night. Counts come last.
import { Action } from '../action';
import { retryRun } from '../acts/runs';
import { query } from '../api';
import { useGet } from '../data';
import { looks, roleOf, State } from '../design/state';
import { type Task, Work } from '../design/work';
import { linkOfThing } from '../explain';
import { later } from '../later';
import { lookOf, runName, RunName, Said } from '../names';
import { Remedies } from '../remedies';
import { href } from '../route';
import { errorOf, failedRuns, isOpen } from '../runs';
import { localized, Time } from '../time';
import { LastRuns, Strips } from '../timeline/strips';
import type { Doctor as DoctorReport, JobType, JobTypeList, Lane, LaneList, Needs, Pool, PoolList, Run, RunList, Thing, ThingList, Use, WorkerList } from '../types';
import { Awaited, Empty, Loaded, Page, Section, Table, useOneColumn } from '../ui';
import { plural } from '../words';
import { Checks } from './checks';
import './overview.css';

const Tonight = later(() => import('../timeline/night').then((m) => m.Tonight), false, 240);

// most is the number of rows in a section. Its link shows the rest.
const most = 10;
export function Overview() {
  const needs = useGet<Needs>('/needs');
  const doctor = useGet<DoctorReport>('/doctor');
  const failed = useGet<RunList>(failedRuns());
  const { standing, unknown } = needs.data ?? {};
  const failures = countOf(failed.data);
  const one = useOneColumn();
  return (
    <Page
      title="Overview"
      head={{
        state: standing && { word: standing.state, role: standing.role },
        icon: failures && standing?.role !== 'person' ? 'failed' : undefined,
        cause: [failures && `${failures} failed since yesterday.`, unknown && `Not everything could be read: ${unknown}`].filter(Boolean).join(' '),
      }}
    >
      {(needs.isPending || failed.isPending) && <Awaited />}
      <div class="cols">
        <div class="stack">
          <Loaded of={needs} what="What needs a person">
            {({ needs: rows }) => <NeedsPerson rows={rows} />}
          </Loaded>
          <ToLookAt of={doctor.data} waits={doctor.isPending} />
          {!one && <Failed of={failed} />}
        </div>
        <div class="stack">
          <Waits told={new Set((needs.data?.needs ?? []).map((need) => need.name))} />
          {one && <Failed of={failed} />}
          <Running />
        </div>
      </div>
      {!needs.isPending && !failed.isPending && (
        <>
          <Tonight />
          <Counts doctor={doctor.data} />
        </>
      )}
    </Page>
  );
}

function NeedsPerson({ rows }: { rows: Needs['needs'] }) {
  if (rows.length === 0) {
    return (
      <Section title="Needs a person">
        <Empty>Nothing: no approval, no hold, nothing without a worker.</Empty>
      </Section>
    );
  }
  const tasks = rows.map((need): Task => {
    const link = linkOfThing(need.kind, need.name);
    return {
      id: `${need.code}${need.name}${need.of}${need.object}`,
      role: 'person',
      what: need.run ? <RunName id={need.run.run} item={need.run.item} /> : link ? <a href={link}>{need.name}</a> : need.name,
      code: need.code,
      look: lookOf(need),
      why: (
        <>
          <Said text={need.detail} runs={need.runs} />
          {need.until && (
            <>
              {' · until '}
              <Time at={need.until} relative={false} />
            </>
          )}
        </>
      ),
      age: need.since && <Time at={need.since} />,
      acts: <Remedies of={need.actions} actor={need.actor} />,
    };
  });
  return (
    <Section title="Needs a person" look="ask">
      <Work rows={tasks} />
    </Section>
  );
}

function ToLookAt({ of, waits }: { of: DoctorReport | undefined; waits: boolean }) {
  if (waits) return <Awaited />;
  const wrong = (of?.checks ?? []).filter((check) => check.verdict !== 'ok' && !check.listed);
  const failed = wrong.filter((check) => check.verdict === 'fail');
  const others = wrong.filter((check) => check.verdict !== 'fail');
  return (
    <>
      {failed.length > 0 && (
        <Section title="Checks that fail" note={<a href={href('doctor')}>doctor</a>} look="alarm">
          <Checks of={failed} />
        </Section>
      )}
      {others.length > 0 && (
        <section>
          <details class="fold2">
            <summary>
              <b>{plural(others.length, 'check')} to look at</b> {others.map((check) => check.name).join(', ')}
            </summary>
            <Checks of={others} />
          </details>
        </section>
      )}
    </>
  );
}

// Failed has one row for each job type or DAG: its newest run that failed, and how many others did.
function Failed({ of }: { of: { data: RunList | undefined; error: unknown; isPending: boolean } }) {
  const count = countOf(of.data);
  return (
    <Section
      title="Failed since yesterday"
      note={
        <>
          {count && `${count} · `}
          <a href={`${href('runs')}?state=failed,timeout,partial`}>all that are kept</a>
        </>
      }
    >
      <Loaded of={of} what="What failed">
        {({ runs }) => {
          const byName = Map.groupBy(runs ?? [], nameOf);
          return (
            <Strips.Provider value={[...byName].flatMap(([name, [run]]) => (run?.job_type ? name : []))}>
              <Table
                label="Runs that failed since yesterday"
                stacked
                rows={[...byName.values()].slice(0, most)}
                id={([run]) => run?.workflow_id ?? ''}
                empty="No run."
                columns={[
                  {
                    name: 'Run',
                    show: ([run, ...others]) =>
                      run && (
                        <>
                          <State word={run.standing.state} role={run.standing.role} quiet />
                          <RunName id={run.workflow_id} bold />
                          {others.length > 0 && <small> {plural(others.length, 'run')} before</small>}
                        </>
                      ),
                  },
                  { name: 'First error', show: ([run]) => firstError(run), wide: true },
                  {
                    name: 'Failed',
                    show: ([run]) => run?.progress?.total ? `${run.progress.failed.toLocaleString('en')} of ${run.progress.total.toLocaleString('en')}` : '',
                    number: true,
                  },
                  {
                    name: 'Last runs',
                    show: ([run]) => run && <LastRuns name={nameOf(run)} dag={!run.job_type} />,
                    optional: true,
                    full: true,
                  },
                  { name: 'Ended', show: ([run]) => <Time at={run?.ended_at} />, number: true },
                  {
                    name: 'Remedy',
                    show: ([run]) => run?.standing.operations.includes('retry-run') && <Action {...retryRun(run)} small />,
                    number: true,
                  },
                ]}
              />
            </Strips.Provider>
          );
        }}
      </Loaded>
    </Section>
  );
}

const countOf = (of: RunList | undefined) => (of?.runs?.length ? `${plural(of.runs.length, 'run')}${of.next ? ' or more' : ''}` : '');

function firstError(run: Run | undefined) {
  const text = run && errorOf(run);
  return text && <span class="error">{text}</span>;
}

const nameOf = (run: Run) => run.job_type || run.dag || run.workflow_id;

// Waits shows lanes, pools and objects with waiting jobs, their holders, and stopped job types without a row above.
function Waits({ told }: { told: Set<string> }) {
  const lanes = useGet<LaneList>('/lanes?limit=1000');
  const pools = useGet<PoolList>('/pools?limit=1000');
  const objects = useGet<ThingList>('/objects?limit=1000');
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const rows = [
    ...(lanes.data?.lanes ?? []).filter((lane) => lane.waiting_count).map((lane) => waits('lane', lane, lane.holder ? [lane.holder] : [])),
    ...(pools.data?.pools ?? []).filter((pool) => pool.waiting_count).map((pool) => waits('pool', pool, pool.holders ?? [])),
    ...(objects.data?.objects ?? []).filter((thing) => thing.waiting_count).map((thing) => waits('object', thing, thing.holders ?? [])),
    ...(types.data?.job_types ?? []).filter((type) => type.standing.stopped && !told.has(type.name)).map(stoppedRow),
  ];
  const waiting = [lanes, pools, objects, types].some((one) => one.isPending);
  if (rows.length === 0) {
    return (
      <Section title="Waits">
        {waiting && <Awaited />}
        <Empty>Nothing waits for a lane, a pool or an object.</Empty>
      </Section>
    );
  }
  return (
    <Section title="Waits" note={rows.length}>
      {waiting && <Awaited />}
      <Work rows={rows.slice(0, most)} fold={rows.length > most && `${rows.length - most} more`} />
    </Section>
  );
}

function waits(kind: 'lane' | 'pool' | 'object', of: Lane | Pool | Thing, holders: Use[]): Task {
  const first = holders[0];
  const next = of.waiting?.[0];
  return {
    id: `${kind} ${of.name}`,
    role: 'waiting',
    what: (
      <a href={`${href('locks')}${query({ [kind]: of.name })}`}>
        {(of.waiting_count ?? 0).toLocaleString('en')} for {kind} {of.name}
      </a>
    ),
    why: first && (
      <>
        <RunName id={first.workflow_id} item={first.for} /> has it{holders.length > 1 && `, with ${holders.length - 1} more`}
      </>
    ),
    age: next && <Time at={next.since} />,
    acts: next && (
      <a class="button small" href={`${href('locks')}${query({ why: next.workflow_id, item: next.for })}`}>
        Who blocks it
      </a>
    ),
  };
}

const stoppedRow = (type: JobType): Task => ({
  id: `type ${type.name}`,
  role: roleOf(type.standing.state) ?? 'unknown',
  what: <a href={href('job-types', type.name)}>{type.name}</a>,
  why: localized(type.standing.detail || type.standing.state),
  look: lookOf(type.standing),
  code: type.standing.code,
  age: type.standing.since && <Time at={type.standing.since} />,
  acts: <Remedies of={type.standing.actions} actor={type.standing.actor} />,
});

function Running() {
  const open = useGet<RunList>('/runs?running=true&counts=true&limit=50');
  return (
    <Section title="Runs" note={<a href={`${href('runs')}?state=running`}>all</a>}>
      <Loaded of={open} what="Runs">
        {({ runs, next }) => {
          const all = (runs ?? []).filter(isOpen);
          if (all.length === 0) return <Empty>Nothing runs.</Empty>;
          return (
            <ul class="work running">
              {all.slice(0, most).map((run) => (
                <li key={run.workflow_id}>
                  <span class={`state ${looks(run.standing.role)}`} />
                  <div>
                    <span class="what">
                      <RunName id={run.workflow_id} />
                    </span>
                    {(run.standing.cause || (run.progress?.total ?? 0) > 0) && (
                      <p class={`why ${(run.progress?.total ?? 0) > 0 ? '' : lookOf(run.standing)}`}>
                        {[run.progress && run.progress.total > 0 && `${run.progress.ended.toLocaleString('en')} of ${run.progress.total.toLocaleString('en')}`, run.standing.cause && localized(run.standing.cause)].filter(Boolean).join(', ')}
                      </p>
                    )}
                    {run.progress && run.progress.total > 0 && <Parts of={run.progress} name={runName(run.workflow_id)} />}
                  </div>
                  <span class="age">
                    <Time at={run.started_at} />
                  </span>
                </li>
              ))}
              {(all.length > most || next) && <li class="fold">The newest {most} are shown.</li>}
            </ul>
          );
        }}
      </Loaded>
    </Section>
  );
}

// Parts is the bar of a run: first the failed items, then the others that ended.
function Parts({ of, name }: { of: NonNullable<Run['progress']>; name: string }) {
  const x = (n: number) => (100 * n) / Math.max(of.total, 1);
  return (
    <svg class="parts" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label={`${of.ended} of ${of.total} of ${name} ended, ${of.failed} of them failed`}>
      <path class="failed" d={`M0 0h${of.failed > 0 ? Math.max(x(of.failed), 1) : 0}v4H0z`} />
      <path class="done" d={`M${x(of.failed)} 0H${x(of.ended)}v4H${x(of.failed)}z`} />
    </svg>
  );
}

function Counts({ doctor }: { doctor: DoctorReport | undefined }) {
  const types = useGet<JobTypeList>('/job-types?limit=1000');
  const workers = useGet<WorkerList>('/workers?limit=1&loads=false');
  const stopped = types.data?.stopped ?? 0;
  return (
    <div class="stats">
      <Tile value={types.data && types.data.total.toLocaleString('en')} note={stopped > 0 ? `job types, ${stopped.toLocaleString('en')} stopped` : 'job types'} address={href('job-types')} />
      <Tile value={workers.data && `${workers.data.online.toLocaleString('en')} of ${workers.data.total.toLocaleString('en')}`} note="workers online" address={href('workers')} />
      <Tile value={doctor && `${doctor.passed} of ${doctor.checks.length}`} note="checks pass" address={href('doctor')} />
      <Tile value={types.data && types.data.running.toLocaleString('en')} note={`${types.data?.running === 1 ? 'job type' : 'job types'} with an open run`} address={`${href('job-types')}?state=running`} />
    </div>
  );
}

const Tile = ({ value, note, address }: { value: string | undefined; note: string; address: string }) => (
  <a class="tile" href={address}>
    <span class="value">{value ?? '…'}</span>
    <span class="note">{note}</span>
  </a>
);
